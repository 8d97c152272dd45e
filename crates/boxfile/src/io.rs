//! How the box receives and sends packets: `[ports] io`.

use std::fmt;

/// How the box receives and sends packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// AF_XDP sockets if they are known to perform as well, else packet rings.
    #[default]
    Auto,
    /// Packet rings.
    AfPacket,
    /// AF_XDP sockets, in native mode if the driver supports it.
    AfXdp,
    /// AF_XDP sockets in generic mode, in the kernel's general receive path.
    AfXdpGeneric,
}

impl Io {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::AfPacket, Self::AfXdp, Self::AfXdpGeneric];

    /// Its word in the configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::AfPacket => "af-packet",
            Self::AfXdp => "af-xdp",
            Self::AfXdpGeneric => "af-xdp-generic",
        }
    }

    /// Whether AF_XDP is configured explicitly.
    pub const fn asks_for_xdp(self) -> bool {
        matches!(self, Self::AfXdp | Self::AfXdpGeneric)
    }
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
