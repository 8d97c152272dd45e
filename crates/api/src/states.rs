//! States of a box and of what it manages, as words.

use crate::words::string_enum;

string_enum! {
    /// What the box does with the traffic.
    pub enum Mode {
        /// The bridge carries it.
        #[default]
        Bypassed = "bypassed",
        /// The bridge carries it, and the box measures it.
        Observing = "observing",
        /// The box carries and manages it.
        Inserted = "inserted",
        /// The box carries what it still holds, and is bypassed when that is gone.
        Draining = "draining",
    }
}

string_enum! {
    /// A command that changes the mode.
    pub enum ModeCommand {
        /// To manage the traffic.
        Insert = "insert",
        /// To leave it to the bridge.
        #[default]
        Bypass = "bypass",
        /// To leave it to the bridge, and measure it.
        Observe = "observe",
    }
}

impl ModeCommand {
    /// The mode that it leads to.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Insert => Mode::Inserted,
            Self::Bypass => Mode::Bypassed,
            Self::Observe => Mode::Observing,
        }
    }
}

string_enum! {
    /// Who carries the traffic.
    pub enum Carrier {
        /// The bridge.
        #[default]
        Bridge = "bridge",
        /// The box.
        Box = "box",
        /// The box still carries what it holds, the bridge all that comes; or, of several packet loops, they differ.
        Releasing = "releasing",
        /// The bridge should, and cannot.
        Nobody = "nobody",
    }
}

string_enum! {
    /// What the guard against harm is at.
    pub enum GuardState {
        /// It watches.
        #[default]
        Watching = "watching",
        /// It holds nothing for a moment, to see what is carried.
        Loosened = "loosened",
        /// The box had bypassed itself, and is inserted again to see whether it may help now.
        Trying = "trying",
        /// The box has bypassed itself, without a command.
        Bypassed = "bypassed",
    }
}

string_enum! {
    /// What probes are used for in a contention domain.
    pub enum ProbeState {
        /// There are none.
        #[default]
        Off = "off",
        /// None are needed.
        Idle = "idle",
        /// Their answers show how far the access point's queue has come.
        Used = "used",
        /// Their answers do not wait behind what was released, as where an access point answers in the stations' place (proxy
        /// ARP) or queues by station or flow.
        Disbelieved = "disbelieved",
    }
}

string_enum! {
    /// The direction of a flow's data.
    pub enum Direction {
        /// From the station.
        #[default]
        Up = "up",
        /// To the station.
        Down = "down",
    }
}

string_enum! {
    /// The codec of a call, as far as its packets show.
    pub enum Codec {
        /// ITU-T G.711.
        G711 = "g711",
        /// ITU-T G.729.
        G729 = "g729",
        /// Another, or unknown.
        #[default]
        Other = "other",
    }
}
