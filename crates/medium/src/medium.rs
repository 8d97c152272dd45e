use core::marker::PhantomData;

use evenair_units::{Instant, Streams};

use crate::{Counters, Event, MediumConfig, Mpdu, NodeConfig, NodeId, QueueState, Totals};

/// One medium and its nodes.
#[derive(Debug)]
pub struct Medium<F>(PhantomData<F>);

#[allow(clippy::unimplemented, unused_variables, missing_docs)]
impl<F> Medium<F> {
    pub fn new(config: MediumConfig, streams: &Streams) -> Self {
        unimplemented!()
    }
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        unimplemented!()
    }
    pub fn remove_node(&mut self, now: Instant, id: NodeId) {
        unimplemented!()
    }
    pub fn set_frame_error(&mut self, from: NodeId, to: NodeId, per_billion: u32) {
        unimplemented!()
    }
    pub fn handle_frame(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<F>) {
        unimplemented!()
    }
    pub fn handle_timeout(&mut self, now: Instant) {
        unimplemented!()
    }
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        unimplemented!()
    }
    pub fn poll_deadline(&self) -> Option<Instant> {
        unimplemented!()
    }
    pub fn queue(&self, id: NodeId) -> QueueState {
        unimplemented!()
    }
    pub fn counters(&self, id: NodeId) -> &Counters {
        unimplemented!()
    }
    pub fn totals(&self, now: Instant) -> Totals {
        unimplemented!()
    }
}
