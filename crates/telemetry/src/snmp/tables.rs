//! The vendors' tables of stations, as data: where each is, which column says what, in which unit.
//!
//! Sources: CISCO-DOT11-ASSOCIATION-MIB, AIRESPACE-WIRELESS-MIB, AI-AP-MIB, MIKROTIK-MIB, AH-INTERFACE-MIB, and for radios
//! IEEE802dot11-MIB (IEEE Std 802.11, annex C) and IF-MIB (RFC 2863).

/// A table with a row for each station.
#[derive(Debug)]
pub struct Table {
    /// Its name in a configuration.
    pub name: &'static str,
    /// Whose it is, in words.
    pub vendor: &'static str,
    /// What `sysObjectID` of an agent that has it begins with.
    pub enterprise: &'static [u64],
    /// Where a row's station stands.
    pub station: StationIn,
    /// Its columns.
    pub columns: &'static [Column],
}

/// Where a row's station stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationIn {
    /// The first six numbers of the row's index.
    IndexHead,
    /// The last six numbers of the row's index.
    IndexTail,
    /// The column that says [`Says::Address`].
    Column,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// The object's identifier, without the row's index.
    pub oid: &'static [u64],
    /// What it says.
    pub says: Says,
}

/// What a column says, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The station's MAC address, six octets.
    Address,
    /// The BSSID of its access point, six octets.
    AccessPoint,
    /// Its IP address.
    Ip,
    /// The name of its network.
    Ssid,
    /// How strongly it is received, in dBm.
    Signal,
    /// The rate toward it.
    Transmit(Unit),
    /// The rate from it.
    Receive(Unit),
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// bit/s.
    Bits,
    /// kbit/s.
    Kilobits,
    /// Mbit/s.
    Megabits,
    /// Octets of 500 kbit/s each, without their highest bit, of a set of rates: the fastest counts.
    RateSet,
}

const CISCO_CLIENT: [u64; 12] = [1, 3, 6, 1, 4, 1, 9, 9, 273, 1, 2, 1];
const CISCO_STATISTICS: [u64; 12] = [1, 3, 6, 1, 4, 1, 9, 9, 273, 1, 3, 1];
const AIRESPACE_STATION: [u64; 11] = [1, 3, 6, 1, 4, 1, 14179, 2, 1, 4, 1];
const AIRESPACE_STATISTICS: [u64; 11] = [1, 3, 6, 1, 4, 1, 14179, 2, 1, 6, 1];
const ARUBA_CLIENT: [u64; 14] = [1, 3, 6, 1, 4, 1, 14823, 2, 3, 3, 1, 2, 4, 1];
const MIKROTIK_REGISTRATION: [u64; 12] = [1, 3, 6, 1, 4, 1, 14988, 1, 1, 1, 2, 1];
const AEROHIVE_ASSOCIATION: [u64; 14] = [1, 3, 6, 1, 4, 1, 26928, 1, 1, 1, 2, 1, 2, 1];

/// An entry's identifier with the numbers of a column behind it.
const fn below<const N: usize, const M: usize>(entry: [u64; N], column: u64) -> [u64; M] {
    let mut oid = [0; M];
    let mut i = 0;
    while i < N {
        oid[i] = entry[i];
        i += 1;
    }
    // Entries are the only child of their table, number 1, where the entry given is the table.
    if M > N + 1 {
        oid[N] = 1;
    }
    oid[M - 1] = column;
    oid
}

macro_rules! column {
    ($entry:expr, $len:literal, $number:literal, $says:expr) => {
        Column { oid: &const { below::<_, $len>($entry, $number) }, says: $says }
    };
}

/// Every table that is known here.
pub const TABLES: &[Table] = &[
    Table {
        name: "cisco",
        vendor: "Cisco, autonomous",
        enterprise: &[1, 3, 6, 1, 4, 1, 9],
        station: StationIn::IndexTail,
        columns: &[
            column!(CISCO_STATISTICS, 14, 1, Says::Transmit(Unit::RateSet)),
            column!(CISCO_STATISTICS, 14, 3, Says::Signal),
            column!(CISCO_CLIENT, 14, 2, Says::AccessPoint),
            column!(CISCO_CLIENT, 14, 16, Says::Ip),
        ],
    },
    Table {
        name: "cisco-wlc",
        vendor: "Cisco, wireless LAN controller",
        enterprise: &[1, 3, 6, 1, 4, 1, 14179],
        station: StationIn::IndexTail,
        columns: &[
            column!(AIRESPACE_STATION, 12, 2, Says::Ip),
            column!(AIRESPACE_STATION, 12, 4, Says::AccessPoint),
            column!(AIRESPACE_STATION, 12, 7, Says::Ssid),
            column!(AIRESPACE_STATISTICS, 12, 1, Says::Signal),
        ],
    },
    Table {
        name: "aruba",
        vendor: "Aruba Instant",
        enterprise: &[1, 3, 6, 1, 4, 1, 14823],
        station: StationIn::IndexTail,
        columns: &[
            column!(ARUBA_CLIENT, 15, 2, Says::AccessPoint),
            column!(ARUBA_CLIENT, 15, 3, Says::Ip),
            // "Transmit rate of client in mbps": the client's, not the access point's.
            column!(ARUBA_CLIENT, 15, 11, Says::Receive(Unit::Megabits)),
            column!(ARUBA_CLIENT, 15, 15, Says::Transmit(Unit::Megabits)),
        ],
    },
    Table {
        name: "mikrotik",
        vendor: "MikroTik",
        enterprise: &[1, 3, 6, 1, 4, 1, 14988],
        station: StationIn::IndexHead,
        columns: &[
            column!(MIKROTIK_REGISTRATION, 13, 3, Says::Signal),
            column!(MIKROTIK_REGISTRATION, 13, 8, Says::Transmit(Unit::Bits)),
            column!(MIKROTIK_REGISTRATION, 13, 9, Says::Receive(Unit::Bits)),
        ],
    },
    Table {
        name: "aerohive",
        vendor: "Aerohive, Extreme",
        enterprise: &[1, 3, 6, 1, 4, 1, 26928],
        station: StationIn::Column,
        columns: &[
            column!(AEROHIVE_ASSOCIATION, 15, 1, Says::Address),
            column!(AEROHIVE_ASSOCIATION, 15, 4, Says::Signal),
            column!(AEROHIVE_ASSOCIATION, 15, 14, Says::Transmit(Unit::Kilobits)),
            column!(AEROHIVE_ASSOCIATION, 15, 29, Says::Receive(Unit::Kilobits)),
        ],
    },
];

/// `sysObjectID.0` (RFC 3418).
pub(super) const SYS_OBJECT_ID: &[u64] = &[1, 3, 6, 1, 2, 1, 1, 2, 0];
/// `ifType`, `ifPhysAddress` and `ifOutDiscards` (RFC 2863).
pub(super) const IF_TYPE: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
pub(super) const IF_ADDRESS: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 6];
pub(super) const IF_OUT_DISCARDS: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 19];
/// `ieee80211` of IANAifType-MIB.
pub(super) const IEEE80211: i64 = 71;
/// `dot11FailedCount` of dot11CountersTable: MSDUs that were given up after too many attempts.
pub(super) const DOT11_FAILED: &[u64] = &[1, 2, 840, 10036, 2, 2, 1, 3];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_the_mibs() {
        let written = |table: &str, says: Says| {
            let table = TABLES.iter().find(|t| t.name == table).expect("a table");
            let column = table.columns.iter().find(|column| column.says == says).expect("a column");
            column.oid.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
        };
        for (table, says, oid) in [
            ("cisco", Says::Transmit(Unit::RateSet), "1.3.6.1.4.1.9.9.273.1.3.1.1.1"),
            ("cisco", Says::Signal, "1.3.6.1.4.1.9.9.273.1.3.1.1.3"),
            ("cisco", Says::Ip, "1.3.6.1.4.1.9.9.273.1.2.1.1.16"),
            ("cisco-wlc", Says::Signal, "1.3.6.1.4.1.14179.2.1.6.1.1"),
            ("cisco-wlc", Says::AccessPoint, "1.3.6.1.4.1.14179.2.1.4.1.4"),
            ("aruba", Says::Receive(Unit::Megabits), "1.3.6.1.4.1.14823.2.3.3.1.2.4.1.11"),
            ("mikrotik", Says::Transmit(Unit::Bits), "1.3.6.1.4.1.14988.1.1.1.2.1.8"),
            ("aerohive", Says::Transmit(Unit::Kilobits), "1.3.6.1.4.1.26928.1.1.1.2.1.2.1.14"),
        ] {
            assert_eq!(written(table, says), oid);
        }
    }
}
