//! The vendors' tables of stations and of radios, as data: the location of each table, the meaning of its columns, and
//! their units.
//!
//! Sources: CISCO-DOT11-ASSOCIATION-MIB, CISCO-DOT11-IF-MIB, AIRESPACE-WIRELESS-MIB, AI-AP-MIB, WLSX-WLAN-MIB,
//! MIKROTIK-MIB, UBNT-AirMAX-MIB, AH-INTERFACE-MIB, and for any radio IEEE802dot11-MIB (IEEE Std 802.11, annex C) and IF-MIB (RFC 2863).

/// A table with a row for each station.
#[derive(Debug)]
pub struct Table {
    /// Its name in a configuration.
    pub name: &'static str,
    /// Name of the vendor and products.
    pub vendor: &'static str,
    /// Prefix of the `sysObjectID` of agents with this table.
    pub enterprise: &'static [u64],
    /// The location of a row's station address.
    pub station: StationIn,
    /// Its columns.
    pub columns: &'static [Column],
    /// The table of radios of the same agents, if the station's row does not have it.
    pub radios: Option<Radios>,
    /// Whether all stations are at the agent's own radios: it is an access point rather than a controller.
    pub is_access_point: bool,
}

/// A table with a row for each radio.
#[derive(Debug)]
pub struct Radios {
    /// How a station's row refers to that of its radio.
    pub found_by: FoundBy,
    /// Its columns. Of several with the same meaning, the first that an agent has counts.
    pub columns: &'static [Column],
    /// Whether it also has rows for virtual access points, without a channel of their own.
    pub lists_virtual: bool,
}

/// How a station's row refers to the row of its radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The first number of the station's index is the radio's: `ifIndex`.
    IndexHead,
    /// The last number of the station's index is the radio's: `ifIndex`.
    IndexTail,
    /// The radio's index is the access point's address, and the number of the radio in it ([`Says::Slot`]).
    Slot,
    /// The radio's index ends in the station's BSSID.
    Bssid,
    /// The station's BSSID equals the radio's address except for the last four bits: a radio has one address per network.
    Address,
}

/// The location of a row's station address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationIn {
    /// The first six numbers of the row's index.
    IndexHead,
    /// The last six numbers of the row's index.
    IndexTail,
    /// The column with [`Says::Address`].
    Column,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The object's identifier, without the row's index.
    pub oid: &'static [u64],
    /// Its meaning.
    pub says: Says,
}

/// Meaning and notation of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The station's MAC address, six octets.
    Address,
    /// The BSSID of its access point, or another address that names it, six octets.
    AccessPoint,
    /// Number of the station's radio in its access point.
    Slot,
    /// Channel number; a suffix, as in `36E`, is its width.
    Channel,
    /// The channel's frequency in MHz.
    Frequency,
    /// Band of a radio: 1 is 2.4 GHz and 2 is 5 GHz; channels of other bands are not supported.
    Band,
    /// Its IP address.
    Ip,
    /// The name of its network.
    Ssid,
    /// Signal strength at the access point, in dBm.
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
    /// kbit/s, or bit/s if the value is impossible in kbit/s: the MIB has no unit, and firmware differs.
    KilobitsOrBits,
    /// A set of rates as octets of 500 kbit/s each, without their highest bit: the fastest counts.
    RateSet,
}

const CISCO_CLIENT: [u64; 12] = [1, 3, 6, 1, 4, 1, 9, 9, 273, 1, 2, 1];
const CISCO_DSSS: [u64; 14] = [1, 3, 6, 1, 4, 1, 9, 9, 272, 1, 1, 2, 5, 1];
const CISCO_STATISTICS: [u64; 12] = [1, 3, 6, 1, 4, 1, 9, 9, 273, 1, 3, 1];
const AIRESPACE_STATION: [u64; 11] = [1, 3, 6, 1, 4, 1, 14179, 2, 1, 4, 1];
const AIRESPACE_STATISTICS: [u64; 11] = [1, 3, 6, 1, 4, 1, 14179, 2, 1, 6, 1];
const AIRESPACE_RADIO: [u64; 11] = [1, 3, 6, 1, 4, 1, 14179, 2, 2, 2, 1];
const ARUBA_CLIENT: [u64; 14] = [1, 3, 6, 1, 4, 1, 14823, 2, 3, 3, 1, 2, 4, 1];
const ARUBA_RADIO: [u64; 14] = [1, 3, 6, 1, 4, 1, 14823, 2, 3, 3, 1, 2, 2, 1];
/// `wlsxWlanStationEntry` and `wlsxWlanAPBssidEntry` of WLSX-WLAN-MIB.
const ARUBAOS_STATION: [u64; 15] = [1, 3, 6, 1, 4, 1, 14823, 2, 2, 1, 5, 2, 2, 1, 1];
const ARUBAOS_BSSID: [u64; 15] = [1, 3, 6, 1, 4, 1, 14823, 2, 2, 1, 5, 2, 1, 7, 1];
/// `ubntRadioEntry`, `ubntWlStatEntry` and `ubntStaEntry` of UBNT-AirMAX-MIB.
const AIROS_RADIO: [u64; 11] = [1, 3, 6, 1, 4, 1, 41112, 1, 4, 1, 1];
const AIROS_NETWORK: [u64; 11] = [1, 3, 6, 1, 4, 1, 41112, 1, 4, 5, 1];
const AIROS_STATION: [u64; 11] = [1, 3, 6, 1, 4, 1, 41112, 1, 4, 7, 1];
const MIKROTIK_REGISTRATION: [u64; 12] = [1, 3, 6, 1, 4, 1, 14988, 1, 1, 1, 2, 1];
const MIKROTIK_ACCESS_POINT: [u64; 12] = [1, 3, 6, 1, 4, 1, 14988, 1, 1, 1, 3, 1];
const AEROHIVE_ASSOCIATION: [u64; 14] = [1, 3, 6, 1, 4, 1, 26928, 1, 1, 1, 2, 1, 2, 1];

/// An entry's identifier with the numbers of a column appended.
const fn below<const N: usize, const M: usize>(entry: [u64; N], column: u64) -> [u64; M] {
    let mut oid = [0; M];
    let mut i = 0;
    while i < N {
        oid[i] = entry[i];
        i += 1;
    }
    // Entries are the only child of their table, number 1; here the given entry is the table.
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

/// For any radio, by `ifIndex`: `dot11CurrentChannel` of dot11PhyDSSSTable, and `dot11CurrentFrequency` of dot11PhyOFDMTable, which is
/// "the current operating frequency channel number" despite its name.
pub(super) const STANDARD_RADIO: [Column; 2] = [
    Column { oid: &[1, 2, 840, 10036, 4, 5, 1, 1], says: Says::Channel },
    Column { oid: &[1, 2, 840, 10036, 4, 11, 1, 1], says: Says::Channel },
];

/// All supported tables.
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
        radios: Some(Radios {
            found_by: FoundBy::IndexHead,
            // `cd11IfPhyDsssCurrentChannel` is also that of other bands.
            columns: &[column!(CISCO_DSSS, 15, 3, Says::Channel), STANDARD_RADIO[0], STANDARD_RADIO[1]],
            lists_virtual: false,
        }),
        is_access_point: true,
    },
    Table {
        name: "cisco-wlc",
        vendor: "Cisco, wireless LAN controller",
        enterprise: &[1, 3, 6, 1, 4, 1, 14179],
        station: StationIn::IndexTail,
        columns: &[
            column!(AIRESPACE_STATION, 12, 2, Says::Ip),
            column!(AIRESPACE_STATION, 12, 4, Says::AccessPoint),
            column!(AIRESPACE_STATION, 12, 5, Says::Slot),
            column!(AIRESPACE_STATION, 12, 7, Says::Ssid),
            column!(AIRESPACE_STATISTICS, 12, 1, Says::Signal),
        ],
        radios: Some(Radios {
            found_by: FoundBy::Slot,
            columns: &[column!(AIRESPACE_RADIO, 12, 2, Says::Band), column!(AIRESPACE_RADIO, 12, 4, Says::Channel)],
            lists_virtual: false,
        }),
        is_access_point: false,
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
        radios: Some(Radios {
            found_by: FoundBy::Address,
            columns: &[column!(ARUBA_RADIO, 15, 3, Says::AccessPoint), column!(ARUBA_RADIO, 15, 4, Says::Channel)],
            lists_virtual: false,
        }),
        is_access_point: false,
    },
    Table {
        name: "arubaos",
        vendor: "ArubaOS, mobility controller",
        enterprise: &[1, 3, 6, 1, 4, 1, 14823],
        station: StationIn::IndexTail,
        columns: &[
            // `wlanStaTransmitRate`, "Transmit rate with which the Station is associated with this system", in Mbit/s.
            column!(ARUBAOS_STATION, 16, 10, Says::Transmit(Unit::Megabits)),
            // `wlanStaApBssid`, `wlanStaChannel` and `wlanStaAccessPointESSID`. `wlanStaRSSI` is a signal-to-noise ratio, so it is not
            // used as the signal.
            column!(ARUBAOS_STATION, 16, 2, Says::AccessPoint),
            column!(ARUBAOS_STATION, 16, 6, Says::Channel),
            column!(ARUBAOS_STATION, 16, 12, Says::Ssid),
        ],
        radios: Some(Radios {
            found_by: FoundBy::Bssid,
            // `wlanAPBssidChannel`; the index ends in `wlanAPBSSID`.
            columns: &[column!(ARUBAOS_BSSID, 16, 8, Says::Channel)],
            lists_virtual: false,
        }),
        is_access_point: false,
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
        radios: Some(Radios {
            found_by: FoundBy::IndexTail,
            columns: &[
                column!(MIKROTIK_ACCESS_POINT, 13, 5, Says::AccessPoint),
                column!(MIKROTIK_ACCESS_POINT, 13, 7, Says::Frequency),
            ],
            lists_virtual: true,
        }),
        is_access_point: true,
    },
    Table {
        name: "airos",
        vendor: "Ubiquiti airOS",
        enterprise: &[1, 3, 6, 1, 4, 1, 41112, 1, 4],
        // After `ubntWlStatIndex`.
        station: StationIn::IndexTail,
        columns: &[
            // `ubntStaSignal`, `ubntStaTxRate`, `ubntStaRxRate` and `ubntStaLastIp`.
            column!(AIROS_STATION, 12, 3, Says::Signal),
            column!(AIROS_STATION, 12, 11, Says::Transmit(Unit::KilobitsOrBits)),
            column!(AIROS_STATION, 12, 12, Says::Receive(Unit::KilobitsOrBits)),
            column!(AIROS_STATION, 12, 10, Says::Ip),
        ],
        radios: Some(Radios {
            found_by: FoundBy::IndexHead,
            // `ubntWlStatApMac` and `ubntRadioFreq`: these devices have one radio, number 1, and its network.
            columns: &[column!(AIROS_NETWORK, 12, 4, Says::AccessPoint), column!(AIROS_RADIO, 12, 4, Says::Frequency)],
            lists_virtual: false,
        }),
        is_access_point: true,
    },
    Table {
        name: "aerohive",
        vendor: "Aerohive, Extreme",
        enterprise: &[1, 3, 6, 1, 4, 1, 26928],
        station: StationIn::Column,
        columns: &[
            column!(AEROHIVE_ASSOCIATION, 15, 1, Says::Address),
            column!(AEROHIVE_ASSOCIATION, 15, 4, Says::Signal),
            column!(AEROHIVE_ASSOCIATION, 15, 13, Says::Channel),
            column!(AEROHIVE_ASSOCIATION, 15, 14, Says::Transmit(Unit::Kilobits)),
            column!(AEROHIVE_ASSOCIATION, 15, 29, Says::Receive(Unit::Kilobits)),
            column!(AEROHIVE_ASSOCIATION, 15, 37, Says::AccessPoint),
        ],
        radios: None,
        is_access_point: true,
    },
];

/// Prefix of vendors' own objects.
pub(super) const ENTERPRISES: &[u64] = &[1, 3, 6, 1, 4, 1];
/// `sysObjectID.0` (RFC 3418).
pub(super) const SYS_OBJECT_ID: &[u64] = &[1, 3, 6, 1, 2, 1, 1, 2, 0];
/// `ifType`, `ifPhysAddress` and `ifOutDiscards` (RFC 2863).
pub(super) const IF_TYPE: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
pub(super) const IF_ADDRESS: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 6];
pub(super) const IF_OUT_DISCARDS: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 19];
/// `ieee80211` of IANAifType-MIB.
pub(super) const IEEE80211: i64 = 71;
/// `dot11FailedCount` of dot11CountersTable: MSDUs given up after too many attempts.
pub(super) const DOT11_FAILED: &[u64] = &[1, 2, 840, 10036, 2, 2, 1, 3];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_those_of_the_mibs() {
        let written = |table: &str, says: Says| {
            let table = TABLES.iter().find(|t| t.name == table).expect("a table");
            let radios = table.radios.iter().flat_map(|radios| radios.columns);
            let column = table.columns.iter().chain(radios).find(|column| column.says == says).expect("a column");
            column.oid.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
        };
        for (table, says, oid) in [
            ("cisco", Says::Transmit(Unit::RateSet), "1.3.6.1.4.1.9.9.273.1.3.1.1.1"),
            ("cisco", Says::Signal, "1.3.6.1.4.1.9.9.273.1.3.1.1.3"),
            ("cisco", Says::Ip, "1.3.6.1.4.1.9.9.273.1.2.1.1.16"),
            ("cisco-wlc", Says::Signal, "1.3.6.1.4.1.14179.2.1.6.1.1"),
            ("cisco-wlc", Says::AccessPoint, "1.3.6.1.4.1.14179.2.1.4.1.4"),
            ("cisco", Says::Channel, "1.3.6.1.4.1.9.9.272.1.1.2.5.1.3"),
            ("cisco-wlc", Says::Slot, "1.3.6.1.4.1.14179.2.1.4.1.5"),
            ("cisco-wlc", Says::Channel, "1.3.6.1.4.1.14179.2.2.2.1.4"),
            ("aruba", Says::Channel, "1.3.6.1.4.1.14823.2.3.3.1.2.2.1.4"),
            ("mikrotik", Says::AccessPoint, "1.3.6.1.4.1.14988.1.1.1.3.1.5"),
            ("mikrotik", Says::Frequency, "1.3.6.1.4.1.14988.1.1.1.3.1.7"),
            ("aerohive", Says::Channel, "1.3.6.1.4.1.26928.1.1.1.2.1.2.1.13"),
            ("aerohive", Says::AccessPoint, "1.3.6.1.4.1.26928.1.1.1.2.1.2.1.37"),
            ("aruba", Says::Receive(Unit::Megabits), "1.3.6.1.4.1.14823.2.3.3.1.2.4.1.11"),
            ("mikrotik", Says::Transmit(Unit::Bits), "1.3.6.1.4.1.14988.1.1.1.2.1.8"),
            ("arubaos", Says::Transmit(Unit::Megabits), "1.3.6.1.4.1.14823.2.2.1.5.2.2.1.1.10"),
            ("arubaos", Says::AccessPoint, "1.3.6.1.4.1.14823.2.2.1.5.2.2.1.1.2"),
            ("arubaos", Says::Channel, "1.3.6.1.4.1.14823.2.2.1.5.2.2.1.1.6"),
            ("arubaos", Says::Ssid, "1.3.6.1.4.1.14823.2.2.1.5.2.2.1.1.12"),
            ("airos", Says::Signal, "1.3.6.1.4.1.41112.1.4.7.1.3"),
            ("airos", Says::Transmit(Unit::KilobitsOrBits), "1.3.6.1.4.1.41112.1.4.7.1.11"),
            ("airos", Says::Receive(Unit::KilobitsOrBits), "1.3.6.1.4.1.41112.1.4.7.1.12"),
            ("airos", Says::AccessPoint, "1.3.6.1.4.1.41112.1.4.5.1.4"),
            ("airos", Says::Frequency, "1.3.6.1.4.1.41112.1.4.1.1.4"),
            ("aerohive", Says::Transmit(Unit::Kilobits), "1.3.6.1.4.1.26928.1.1.1.2.1.2.1.14"),
        ] {
            assert_eq!(written(table, says), oid);
        }
    }
}
