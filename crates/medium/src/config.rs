//! The rules of a medium, and what is particular to a node of it.

use evenair_units::{Bytes, Limit};
use evenair_wifi::{EdcaSet, Phy, Preamble};

use crate::aggregation::Aggregation;
use crate::idle_sense::IdleSenseConfig;
use crate::rate_control::RateControl;
use crate::reception::{Antenna, Reception};

/// What nodes wait after a collision before their back-off counts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterCollision {
    /// Bystanders wait EIFS, as the standard says of a frame that could not be decoded (IEEE Std 802.11-2016,
    /// 10.3.2.3.7); senders wait until their answer is overdue and then DIFS.
    Eifs,
    /// Bystanders wait DIFS, senders as above: receivers that do not lock on to a preamble when two come at once sense
    /// energy but no frame. This is what ns-3 does with its model of preamble detection.
    Difs,
    /// Everybody waits DIFS, senders too: what Bianchi's model and simulations in slots assume.
    DifsForAll,
    /// Bystanders wait EIFS and then DIFS; senders begin to count when the time of an answer is over. This is what ns-2
    /// does.
    EifsThenDifs,
}

/// One medium's rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumConfig {
    /// Times, rates and contention windows.
    pub phy: Phy,
    /// An MSDU of more than this many bytes is sent after RTS and CTS; `None`: never.
    pub rts_threshold: Option<Bytes>,
    /// With 802.11g: each frame comes after a CTS of 802.11b to the sender itself, with this preamble, for the sake of
    /// stations that would not hear it else ([`Phy::protection`]). Not beside RTS, which would say the same.
    pub protection: Option<Preamble>,
    /// Attempts that may end without CTS, or without ACK where no RTS was sent, before a frame is dropped. Usually 7.
    pub short_retry_limit: u32,
    /// Attempts that may end without ACK after RTS and CTS before a frame is dropped. Usually 4.
    pub long_retry_limit: u32,
    /// What bystanders of a collision wait.
    pub after_collision: AfterCollision,
    /// A node takes the medium for idle between a frame to it and the ACK that it is about to send: what it has to send
    /// from then on, having had nothing and no back-off to count, follows its ACK after DIFS or AIFS without back-off. A
    /// deviation of ns-3; by the standard the medium has not been idle for DIFS (10.3.4.2). Only where all hear all.
    pub idle_before_ack: bool,
    /// What is received of what is sent.
    pub reception: Reception,
    /// How senders choose their rates.
    pub rate_control: RateControl,
    /// What nodes with [`BackOff::IdleSense`] aim at.
    pub idle_sense: IdleSenseConfig,
    /// How nodes with EDCA aggregate, where any do. Rates are those that frames bring then, but with
    /// [`RateControl::MinstrelHt`].
    pub aggregation: Option<Aggregation>,
}

impl MediumConfig {
    /// The standard's rules, without RTS: nothing is lost but by collision, and rates are those that frames bring.
    pub fn new(phy: Phy) -> Self {
        Self {
            phy,
            rts_threshold: None,
            protection: None,
            short_retry_limit: 7,
            long_retry_limit: 4,
            after_collision: AfterCollision::Eifs,
            idle_before_ack: false,
            reception: Reception::default(),
            rate_control: RateControl::Fixed,
            idle_sense: IdleSenseConfig::default(),
            aggregation: None,
        }
    }
}

/// Where the back-off of a node with DCF is drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BackOff {
    /// From the PHY's windows, doubled with each failure.
    #[default]
    Standard,
    /// From 0 to `slots` slots, whatever fails; with a probability of `more_per_billion`, from one slot more.
    Constant {
        /// The window.
        slots: u32,
        /// Makes windows that are no whole number in the mean.
        more_per_billion: u32,
    },
    /// From a window that keeps the mean number of idle slots between transmissions at [`MediumConfig::idle_sense`],
    /// whatever fails. Only where all hear all.
    IdleSense,
}

/// What is particular to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// Drop-tail buffer, with EDCA one for each category; bytes are those of MSDUs (IP packets), and the frame in
    /// service counts.
    pub buffer: Limit,
    /// The parameters of its categories; `None`: it has DCF, with the PHY's contention windows.
    pub edca: Option<EdcaSet>,
    /// Where its back-off is drawn from with DCF.
    pub back_off: BackOff,
    /// Its place and power, where these matter.
    pub antenna: Option<Antenna>,
}

impl NodeConfig {
    /// A node with DCF.
    pub const fn dcf(buffer: Limit) -> Self {
        Self { buffer, edca: None, back_off: BackOff::Standard, antenna: None }
    }

    /// A node with EDCA, with a buffer like this for each category.
    pub const fn edca(buffer: Limit, set: EdcaSet) -> Self {
        Self { buffer, edca: Some(set), back_off: BackOff::Standard, antenna: None }
    }
}
