//! Packet metadata for the manager, and the changes that it may make to a packet.
//!
//! A driver turns bytes into a [`PacketMeta`] with [`parse`] and hands the metadata, not the bytes, to the manager;
//! a simulator fills in the same record without there ever being bytes. Decisions come back as [`Edits`], which the
//! driver applies to the frame. Metadata is encoded
//! in CBOR for recordings.
//!
//! Nothing here keeps state between packets. Of payloads only information about the network itself is parsed and kept
//! ([`Content`]).
//!
//! ```
//! use evenair_packet::{MacAddr, Port, parse};
//!
//! // A broadcast ARP request.
//! let mut frame = vec![0xff; 6];
//! frame.extend([2, 0, 0, 0, 0, 1, 0x08, 0x06]);
//! frame.extend([0; 46]);
//! let meta = parse(Port::Wlan, &frame);
//! assert_eq!((meta.src, meta.ether_type), (MacAddr([2, 0, 0, 0, 0, 1]), 0x0806));
//! assert!(meta.ip.is_none());
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

pub mod checksum;
mod content;
mod control;
mod edits;
mod encapsulation;
mod flow;
mod mac;
mod membership;
mod meta;
mod neighbour;
mod parse;
pub mod segments;
mod sip;
mod subnet;

pub use content::{Content, RtpMeta};
pub use control::Control;
pub use edits::Edits;
pub use encapsulation::Encapsulation;
pub use flow::FlowKey;
pub use mac::{MacAddr, MacAddrError};
pub use membership::Membership;
pub use meta::{IpMeta, PacketMeta, Port, TcpFlags, TcpMeta, Timestamps, Transport, Vlan};
pub use neighbour::{Claim, HostName, Lease};
pub use parse::{dscp, parse};
pub use sip::{Encoding, SdpStream, SipMeta, SipStep};
pub use subnet::{Subnet, SubnetError, is_link_local};
