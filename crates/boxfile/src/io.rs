//! How the box receives and sends packets: `[ports] io`.

use std::fmt;

/// How the box receives and sends packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// Through AF_XDP sockets where that is known to do as well, else through packet rings.
    #[default]
    Auto,
    /// Through packet rings.
    AfPacket,
    /// Through AF_XDP sockets, in the interface's driver where it can.
    AfXdp,
    /// Through AF_XDP sockets, in the kernel's general receive path.
    AfXdpGeneric,
}

impl Io {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::AfPacket, Self::AfXdp, Self::AfXdpGeneric];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::AfPacket => "af-packet",
            Self::AfXdp => "af-xdp",
            Self::AfXdpGeneric => "af-xdp-generic",
        }
    }

    /// Whether AF_XDP sockets are asked for explicitly.
    pub const fn asks_for_xdp(self) -> bool {
        matches!(self, Self::AfXdp | Self::AfXdpGeneric)
    }
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
