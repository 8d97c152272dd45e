//! Limits beyond which something is wrong.

/// Limits, with their units in their names. Shares are fractions of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `starving`: 95 of 100 packets of a station take longer than this for the WLAN.
    pub starving_wait_ms: f64,
    /// `starving`: it gets less than this part of an equal share.
    pub starving_share: f64,
    /// `starving`, `slow-link`: charged airtime above which a contention domain is busy.
    pub busy_air: f64,
    /// `holds-the-air`: a station takes more of the air than this.
    pub held_air: f64,
    /// `holds-the-air`, and `slow-link` while inserted: and more than this many times what each of the others takes, by weight.
    pub held_times: f64,
    /// `slow-link`: a PHY rate below this part of the fastest active station's.
    pub slow_rate: f64,
    /// `slow-link`: and that station takes more of the air than this.
    pub slow_air: f64,
    /// `channel-crowded`: part of the medium time of packets that their reported PHY rates do not explain. Sites without another network
    /// have 37 % at most in any second (7 sites). Beside one that takes half of the channel or more 11 of 12 have 40 to 70 % at most; the
    /// twelfth does not fill its medium and shows none (`evenair measure health`).
    pub crowded_air: f64,
    /// `wifi-latency`: 95th percentile of the latency of a contention domain.
    pub wifi_latency_ms: f64,
    /// `internet-latency`: 95th percentile of the latency beyond the wire port.
    pub internet_latency_ms: f64,
    /// `internet-latency`: and its median.
    pub internet_median_ms: f64,
    /// `lost-in-box`: packets lost in a minute.
    pub lost_packets: f64,
    /// `late-loop`: fail-open leases that expired in a minute.
    pub lapses: f64,
    /// `address-contested`: refused claims of addresses in a minute.
    pub contested_claims: f64,
    /// `unmanaged-traffic`: part of the bytes of a minute that cannot be read.
    pub unmanaged_share: f64,
    /// `call-quality`: lowest rating factor R.
    pub call_rating: f64,
    /// `telemetry-silent`: seconds without an answer, or three polls if these take longer.
    pub telemetry_silence_s: f64,
    /// `restarted`: seconds after the start.
    pub restarted_s: f64,
}

impl Default for Limits {
    /// Reasons for these values are with the keys of `[health]` in the box's configuration.
    fn default() -> Self {
        Self {
            starving_wait_ms: 200.0,
            starving_share: 0.25,
            busy_air: 0.8,
            held_air: 0.4,
            held_times: 3.0,
            slow_rate: 0.125,
            slow_air: 0.2,
            crowded_air: 0.4,
            wifi_latency_ms: 100.0,
            internet_latency_ms: 250.0,
            internet_median_ms: 100.0,
            lost_packets: 10.0,
            lapses: 2.0,
            contested_claims: 2.0,
            unmanaged_share: 0.2,
            call_rating: 70.0,
            telemetry_silence_s: 60.0,
            restarted_s: 600.0,
        }
    }
}
