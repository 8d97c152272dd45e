//! The ranges of a scenario's keys, but for those that depend on other keys and on the run.

use evenair_reader::{Frequency, Metres, PerBillion, Permille, ranges};
use evenair_units::{BitRate, Bytes, Db, Dbm, Span};
use evenair_wifi::BitErrorRate;

ranges! {
    /// Lengths of a run, whose instants are counted in nanoseconds.
    pub(crate) Durations: Span = "1 ms to 24 h";
    /// Delays of wired links and paths: no one-way delay on Earth is longer.
    pub(crate) Delays: Span = "0 to 10 s";
    /// How long packets are collected: no driver does so for longer before it hands them over.
    pub(crate) Batches: Span = "0 to 1 s";
    /// Delays of telemetry reports.
    pub(crate) ReportDelays: Span = "0 to 10 min";
    /// How long a roam takes.
    pub(crate) RoamingTimes: Span = "0 to 60 s";
    /// Bit rates of wired links.
    pub(crate) LinkRates: BitRate = "1 b/s to 100 Gb/s";
    /// Channels of both bands; of 2.4 GHz up to 14.
    pub(crate) Channels: u32 = "1 to 200";
    /// VLAN identifiers (IEEE Std 802.1Q-2018, 9.6).
    pub(crate) Vlans: u32 = "1 to 4094";
}

// The radio.
ranges! {
    /// Attempts of a frame: the MIB's counters have 8 bits (IEEE Std 802.11-2016, annex C).
    pub(crate) Attempts: u32 = "1 to 255";
    /// A window is 2^n - 1 with n up to 15 (IEEE Std 802.11-2016, 9.4.2.29). Windows between these are accepted: others'
    /// experiments have them.
    pub(crate) ContentionWindows: u32 = "0 to 32767";
    /// AIFS in slots, in a field of 4 bits (the same clause); of stations 2 at least.
    pub(crate) Aifsns: u32 = "1 to 15";
    /// 65 535 units of 32 us (the same clause).
    pub(crate) Txops: Span = "0 us to 2097120 us";
    /// Up to the longest A-MPDU of 802.11ax.
    pub(crate) AggregateSizes: Bytes = "0 to 6500631 bytes";
    /// Up to the largest window of 802.11be.
    pub(crate) BlockAckWindows: u32 = "1 to 1024";
    /// Up to aPPDUMaxTime (IEEE Std 802.11-2020, 19.4.4).
    pub(crate) PpduDurations: Span = "100 us to 5484 us";
    /// Up to the longest spacing that a receiver can ask for (IEEE Std 802.11-2020, 9.4.2.55.3).
    pub(crate) MpduSpacings: Span = "0 us to 16 us";
    /// Up to the longest A-MSDU of 802.11ac.
    pub(crate) MsduAggregateSizes: Bytes = "0 to 11426 bytes";
    /// Bit error rates.
    pub(crate) BitErrorRates: f64 = "a probability below 1, such as 1e-6" if |ber: &f64| BitErrorRate::new(*ber).is_some();
    /// From less than in free space to many walls.
    pub(crate) PathLossExponents: f64 = "1 to 8";
    /// Levels above which a signal is sensed.
    pub(crate) SensedLevels: Dbm = "-150 dBm to 0 dBm";
    /// Transmit powers.
    pub(crate) TxPowers: Dbm = "-30 dBm to 36 dBm";
    /// Signal-to-noise ratios.
    pub(crate) SignalRatios: Db = "-100 dB to 200 dB";
    /// Distances of stations.
    pub(crate) Distances: Metres = "above 0 and up to 100 km";
    /// Coordinates of nodes.
    pub(crate) Coordinates: Metres = "-100 km to 100 km";
    /// Proportions of frames that are lost.
    pub(crate) LossRates: PerBillion = "0 % to 100 %";
    /// Targets of Idle Sense, in slots.
    pub(crate) IdleSlots: f64 = "1 to 50";
    /// Ratios of the access point's share to that of all stations.
    pub(crate) ApRatios: f64 = "0.1 to 10";
    /// Up to 65 535 time units of 1024 us, a field of 16 bits (IEEE Std 802.11-2016, 9.4.1.3).
    pub(crate) BeaconIntervals: Span = "10 ms to 67.10784 s";
    /// Beacons from one DTIM to the next, in a field of 8 bits (IEEE Std 802.11-2016, 9.4.2.6).
    pub(crate) DtimPeriods: u32 = "1 to 255";
    /// How often a station that sleeps wakes.
    pub(crate) ListenIntervals: u32 = "1 to 100 beacons";
    /// How long a station stays awake after traffic.
    pub(crate) AwakeTimes: Span = "1 ms to 60 s";
    /// Payloads of another network's frames, up to the largest MSDU (IEEE Std 802.11-2016, 9.2.3).
    pub(crate) MsduSizes: Bytes = "1 to 2304 bytes";
}

// Traffic.
ranges! {
    /// Sizes of socket buffers.
    pub(crate) SocketBuffers: Bytes = "4 KiB to 1 GiB";
    /// Segments of Ethernet: up to packets of 1500 bytes without the headers of IPv4 and TCP.
    pub(crate) SegmentSizes: Bytes = "88 to 1460 bytes";
    /// Initial congestion windows, in segments.
    pub(crate) InitialWindows: u32 = "1 to 1000";
    /// Shortest retransmission timeouts.
    pub(crate) RetransmissionTimes: Span = "1 ms to 60 s";
    /// Sizes of a bulk transfer.
    pub(crate) BulkSizes: Bytes = "1 byte or more";
    /// Objects of a page.
    pub(crate) ObjectCounts: u32 = "0 to 100";
    /// Tail exponents of the sizes of objects, whose mean is finite.
    pub(crate) ObjectAlphas: f64 = "1.01 to 10";
    /// Sizes of objects.
    pub(crate) ObjectSizes: Bytes = "1 byte to 10 GB";
    /// Times between two pages.
    pub(crate) ThinkTimes: Span = "0 to 1 h";
    /// Times from one ping or frame to the next.
    pub(crate) SendIntervals: Span = "1 ms to 60 s";
    /// Rates of UDP payload.
    pub(crate) UdpRates: BitRate = "1 b/s to 10 Gb/s";
    /// Datagrams in a time.
    pub(crate) PacketRates: Frequency = "1 /h to 1000000 /s";
    /// Parts by which gaps vary.
    pub(crate) GapNoises: Permille = "0 to 100 %";
    /// Times from one transfer to the next.
    pub(crate) ArrivalIntervals: Span = "1 us to 24 h";
    /// The same as frequencies.
    pub(crate) ArrivalRates: Frequency = "one a day to 1000000 /s" if is_arrival_rate;
    /// Numbers of transfers.
    pub(crate) TransferCounts: u64 = "1 or more";
    /// Transfers at a time.
    pub(crate) TransferLimits: u32 = "1 to 20000";
    /// Speeds of a replay.
    pub(crate) ReplaySpeeds: f64 = "0.001 to 1000";
    /// Tail exponents of distributions.
    pub(crate) Alphas: f64 = "0.05 to 20";
    /// Bit rates of Opus (RFC 6716, 2.1.1).
    pub(crate) OpusRates: BitRate = "6 kb/s to 510 kb/s";
    /// Delays of a playout buffer.
    pub(crate) PlayoutTimes: Span = "0 to 10 s";
    /// Equipment impairment factors: 95 is no speech (ITU-T G.107, 7.5).
    pub(crate) Impairments: f64 = "0 to below 95";
    /// Robustness against losses (the same clause).
    pub(crate) Robustnesses: f64 = "1 to 1000";
}

fn is_arrival_rate(rate: &Frequency) -> bool {
    (Span::from_micros(1)..=Span::from_secs(86_400)).contains(&rate.gap())
}
