//! Configuration of a medium and of its nodes.

use evenair_units::{Bytes, Limit};
use evenair_wifi::{EdcaSet, Phy, Preamble};

use crate::aggregation::Aggregation;
use crate::idle_sense::IdleSenseConfig;
use crate::rate_control::RateControl;
use crate::reception::{Antenna, Reception};

/// Wait after a collision before back-off counts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterCollision {
    /// Bystanders wait EIFS, as after any frame that could not be decoded (IEEE Std 802.11-2016, 10.3.2.3.7); senders
    /// wait for their response timeout and then DIFS.
    Eifs,
    /// Bystanders wait DIFS, senders as above: receivers that do not lock on to a preamble when two overlap sense energy
    /// but no frame. ns-3 does this with its model of preamble detection.
    Difs,
    /// All nodes wait DIFS, senders too: the assumption of Bianchi's model and of slotted simulations.
    DifsForAll,
    /// Bystanders wait EIFS and then DIFS; senders resume at the end of the response's time. ns-2 does this.
    EifsThenDifs,
}

/// Configuration of one medium.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumConfig {
    /// Times, rates and contention windows.
    pub phy: Phy,
    /// An MSDU of more than this many bytes is sent after RTS and CTS; `None`: never.
    pub rts_threshold: Option<Bytes>,
    /// For 802.11g: a CTS-to-self of 802.11b with this preamble precedes each frame, for stations that cannot decode
    /// OFDM ([`Phy::protection`]). Not together with RTS, which has the same effect.
    pub protection: Option<Preamble>,
    /// Attempts without CTS, or without ACK if no RTS was sent, before a frame is dropped. Usually 7.
    pub short_retry_limit: u32,
    /// Attempts without ACK after RTS and CTS before a frame is dropped. Usually 4.
    pub long_retry_limit: u32,
    /// Wait of the bystanders of a collision.
    pub after_collision: AfterCollision,
    /// A receiver treats the medium as idle between a frame and the ACK that it is about to send: a frame that it gets
    /// then, with no other frame and no back-off pending, follows the ACK after DIFS or AIFS without back-off. A
    /// deviation of ns-3; by the standard the medium has not been idle for DIFS (10.3.4.2). Only with the shared-channel
    /// engine.
    pub idle_before_ack: bool,
    /// Reception: errors, signals and capture.
    pub reception: Reception,
    /// How senders choose their rates.
    pub rate_control: RateControl,
    /// Target of nodes with [`BackOff::IdleSense`].
    pub idle_sense: IdleSenseConfig,
    /// Aggregation of nodes with EDCA, if they aggregate. Frames then carry their own rates, except with
    /// [`RateControl::MinstrelHt`].
    pub aggregation: Option<Aggregation>,
}

impl MediumConfig {
    /// The standard's rules, without RTS: only collisions lose frames, and frames carry their own rates.
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

/// How a node with DCF draws its back-off.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BackOff {
    /// From the PHY's windows, doubled with each failure.
    #[default]
    Standard,
    /// From 0 to `slots` slots, whatever fails; with probability `more_per_billion` / 10^9 from 0 to `slots` + 1.
    Constant {
        /// The window.
        slots: u32,
        /// Fraction of draws with one slot more, per 10^9, for windows that are not integers.
        more_per_billion: u32,
    },
    /// From a window that keeps the mean number of idle slots between transmissions at [`MediumConfig::idle_sense`],
    /// whatever fails. Only with the shared-channel engine.
    IdleSense,
}

/// Configuration of one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// Limit of the drop-tail buffer, with EDCA of each category's; bytes are those of MSDUs (IP packets), and the frame
    /// in service counts.
    pub buffer: Limit,
    /// EDCA parameters of its categories; `None`: DCF, with the PHY's contention windows.
    pub edca: Option<EdcaSet>,
    /// How it draws its back-off with DCF.
    pub back_off: BackOff,
    /// Position and transmit power, if the medium uses them.
    pub antenna: Option<Antenna>,
}

impl NodeConfig {
    /// A node with DCF.
    pub const fn dcf(buffer: Limit) -> Self {
        Self { buffer, edca: None, back_off: BackOff::Standard, antenna: None }
    }

    /// A node with EDCA, with a buffer of this size for each category.
    pub const fn edca(buffer: Limit, set: EdcaSet) -> Self {
        Self { buffer, edca: Some(set), back_off: BackOff::Standard, antenna: None }
    }
}
