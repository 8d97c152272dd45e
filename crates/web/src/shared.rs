//! State that all requests share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::audit::Audit;
use crate::auth::Auth;
use crate::config::WebConfig;
use crate::control::Control;
use crate::feed::Feed;
use crate::tls::Certificates;

/// State that all requests share; clones share it, too.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) feed: Feed,
    pub(crate) control: Control,
    pub(crate) config: Arc<WebConfig>,
    pub(crate) auth: Auth,
    pub(crate) audit: Audit,
    pub(crate) certificates: Option<Arc<Certificates>>,
    /// Number of open streams.
    pub(crate) streams: Arc<AtomicUsize>,
}
