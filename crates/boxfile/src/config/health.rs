//! Limits beyond which something is wrong with the network: `[health]`.

use evenair_api::health::Limits;
use evenair_reader::{OrDefault, Permille, Problems, Written, ranges};
use evenair_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

ranges! {
    /// Latencies.
    pub Latencies: Span = "1 ms to 60 s";
    /// Times in which something is not heard.
    pub Silences: Span = "1 s to 24 h";
    /// Parts of a whole.
    pub Parts: Permille = "0.1 % to 100 %";
    /// Multiples of what others have.
    pub Multiples: u32 = "1 to 100 times";
    /// What may happen in a minute.
    pub PerMinute: u32 = "0 to 1000000";
    /// Rating factors R.
    pub Ratings: u32 = "1 to 93";
}

/// Limits beyond which the box reports a reason of the health of the network. A reason is raised after 5 s beyond its limit
/// (`wifi-latency` after 9 s at most, while a reason that is its cause is about to be raised), and cleared after 15 s below 80 % of it, or
/// 60 s if it came back within ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSpec {
    /// `starving`: 95 of 100 packets of a station take longer than this for the WLAN, or what the box holds for it lasts longer: more
    /// than the 150 ms one way that ITU-T G.114 recommends at most. Default: "200 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starving_latency: Option<Written<Span, Latencies>>,
    /// `starving`: and the station gets less than this part of an equal share, by weight: shares vary less from second to second.
    /// Default: "25 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starving_share: Option<Written<Permille, Parts>>,
    /// `starving`, `slow-link`: and the charged airtime of its contention domain is above this: where a queue has four packets on
    /// average (M/M/1), and more with each percent. Default: "80 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_air: Option<Written<Permille, Parts>>,
    /// `holds-the-air`: a station, of at least three active ones, takes more of the air than this while another starves or
    /// packets take longer than `wifi_latency`. Default: "40 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_air: Option<Written<Permille, Parts>>,
    /// `holds-the-air`, and `slow-link` while the box is inserted: and more than this many times what each of the others takes, by
    /// weight. Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_times: Option<Written<u32, Multiples>>,
    /// `slow-link`: the reported PHY rate of a station is below this part of the fastest active one's: 6 of 54 Mb/s, where the
    /// performance anomaly (Heusse et al., INFOCOM 2003) costs the others most. Default: "12.5 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_rate: Option<Written<Permille, Parts>>,
    /// `slow-link`: and it takes more of the air than this. Default: "20 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_air: Option<Written<Permille, Parts>>,
    /// `channel-crowded`: more of the medium time of packets is not explained by their reported PHY rates, while the medium is busy:
    /// as much as another network takes that always has something to send leaves to this one. Default: "40 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crowded_air: Option<Written<Permille, Parts>>,
    /// `wifi-latency`: 95 of 100 packets of a contention domain take longer than this for the WLAN and back, which leaves calls
    /// no time for the rest of their way (ITU-T G.114). Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi_latency: Option<Written<Span, Latencies>>,
    /// `internet-latency`: 95 of 100 packets take longer than this beyond the wire port and back: a modem's queue, since the way around
    /// half of the Earth takes less (20,000 km of fibre and back, 200 ms). Default: "250 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_latency: Option<Written<Span, Latencies>>,
    /// `internet-latency`: and half of them longer than this, so that a few far servers are no reason. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_median: Option<Written<Span, Latencies>>,
    /// `lost-in-box`: more packets lost in the box in a minute: a switchover or a burst loses fewer. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<Written<u32, PerMinute>>,
    /// `late-loop`: more fail-open leases that ran out in a minute because the box was late by 50 ms; one or two are those of a virtual
    /// machine that was moved. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_leases: Option<Written<u32, PerMinute>>,
    /// `address-contested`: more refused claims of addresses in a minute: a device that changes its adapter makes one or two. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested_claims: Option<Written<u32, PerMinute>>,
    /// `unmanaged-traffic`: more of the bytes of a minute cannot be read: then an equal share of the rest is a fifth less than it should
    /// be. Default: "20 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged_share: Option<Written<Permille, Parts>>,
    /// `call-quality`: a call with a lower rating factor R: below 70 many users are dissatisfied (ITU-T G.107, annex B). Default: 70.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_rating: Option<Written<u32, Ratings>>,
    /// `telemetry-silent`: a telemetry source has not answered for this long, and for three of its intervals, as long as its
    /// reports are valid. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry_silence: Option<Written<Span, Silences>>,
    /// `restarted`: for so long after a start that follows a crash, a hang or a kill. Default: "10 min".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarted: Option<Written<Span, Silences>>,
}

impl HealthSpec {
    pub(super) fn check(&self, problems: &mut Problems) -> Option<Limits> {
        let usual = Limits::default();
        let mut time = |written: &Option<Written<Span, Latencies>>, usual_ms: f64| {
            written.get_optional(problems).map(|span| span.map_or(usual_ms, |span| span.as_secs_f64() * 1e3))
        };
        let latencies = [
            time(&self.starving_latency, usual.starving_wait_ms),
            time(&self.wifi_latency, usual.wifi_latency_ms),
            time(&self.internet_latency, usual.internet_latency_ms),
            time(&self.internet_median, usual.internet_median_ms),
        ];
        let mut part = |written: &Option<Written<Permille, Parts>>, usual: f64| {
            written.get_optional(problems).map(|part| part.map_or(usual, |part| f64::from(part.0) / 1e3))
        };
        let shares = [
            part(&self.starving_share, usual.starving_share),
            part(&self.busy_air, usual.busy_air),
            part(&self.held_air, usual.held_air),
            part(&self.slow_rate, usual.slow_rate),
            part(&self.slow_air, usual.slow_air),
            part(&self.crowded_air, usual.crowded_air),
            part(&self.unmanaged_share, usual.unmanaged_share),
        ];
        let limits = self.counts(usual, problems);
        let [starving_wait_ms, wifi_latency_ms, internet_latency_ms, internet_median_ms] = latencies;
        let [starving_share, busy_air, held_air, slow_rate, slow_air, crowded_air, unmanaged_share] = shares;
        Some(Limits {
            starving_wait_ms: starving_wait_ms?,
            wifi_latency_ms: wifi_latency_ms?,
            internet_latency_ms: internet_latency_ms?,
            internet_median_ms: internet_median_ms?,
            starving_share: starving_share?,
            busy_air: busy_air?,
            held_air: held_air?,
            slow_rate: slow_rate?,
            slow_air: slow_air?,
            crowded_air: crowded_air?,
            unmanaged_share: unmanaged_share?,
            ..limits?
        })
    }

    /// Checks the limits that are neither latencies nor parts.
    fn counts(&self, usual: Limits, problems: &mut Problems) -> Option<Limits> {
        let held_times = self.held_times.get_optional(problems);
        let mut count = |written: &Option<Written<u32, PerMinute>>, usual: f64| {
            written.get_optional(problems).map(|count| count.map_or(usual, f64::from))
        };
        let counts = [
            count(&self.lost_packets, usual.lost_packets),
            count(&self.late_leases, usual.lapses),
            count(&self.contested_claims, usual.contested_claims),
        ];
        let rating = self.call_rating.get_optional(problems);
        let mut silence = |written: &Option<Written<Span, Silences>>, usual_s: f64| {
            written.get_optional(problems).map(|span| span.map_or(usual_s, |span| span.as_secs_f64()))
        };
        let silences =
            [silence(&self.telemetry_silence, usual.telemetry_silence_s), silence(&self.restarted, usual.restarted_s)];
        let ([lost_packets, lapses, contested_claims], [telemetry_silence_s, restarted_s]) = (counts, silences);
        Some(Limits {
            held_times: held_times?.map_or(usual.held_times, f64::from),
            lost_packets: lost_packets?,
            lapses: lapses?,
            contested_claims: contested_claims?,
            call_rating: rating?.map_or(usual.call_rating, f64::from),
            telemetry_silence_s: telemetry_silence_s?,
            restarted_s: restarted_s?,
            ..usual
        })
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::health::Limits;

    use crate::BoxConfig;

    fn with(health: &str) -> Result<Limits, String> {
        let text = format!("[ports]\nwlan = \"a\"\nwire = \"b\"\n[radio]\nstandard = \"802.11g\"\n{health}");
        BoxConfig::parse(&text, "box.toml").map(|config| config.health).map_err(|error| error.to_string())
    }

    #[test]
    fn each_key_sets_its_limit_alone() {
        assert_eq!(with(""), Ok(Limits::default()));
        type Set = fn(&mut Limits);
        let keys: [(&str, Set); 18] = [
            ("starving_latency = \"1 s\"", |limits| limits.starving_wait_ms = 1000.0),
            ("starving_share = \"1 %\"", |limits| limits.starving_share = 0.01),
            ("busy_air = \"95 %\"", |limits| limits.busy_air = 0.95),
            ("held_air = \"50 %\"", |limits| limits.held_air = 0.5),
            ("held_times = 5", |limits| limits.held_times = 5.0),
            ("slow_rate = \"10 %\"", |limits| limits.slow_rate = 0.1),
            ("slow_air = \"30 %\"", |limits| limits.slow_air = 0.3),
            ("crowded_air = \"30 %\"", |limits| limits.crowded_air = 0.3),
            ("wifi_latency = \"50 ms\"", |limits| limits.wifi_latency_ms = 50.0),
            ("internet_latency = \"700 ms\"", |limits| limits.internet_latency_ms = 700.0),
            ("internet_median = \"600 ms\"", |limits| limits.internet_median_ms = 600.0),
            ("lost_packets = 0", |limits| limits.lost_packets = 0.0),
            ("late_leases = 7", |limits| limits.lapses = 7.0),
            ("contested_claims = 9", |limits| limits.contested_claims = 9.0),
            ("unmanaged_share = \"100 %\"", |limits| limits.unmanaged_share = 1.0),
            ("call_rating = 80", |limits| limits.call_rating = 80.0),
            ("telemetry_silence = \"5 min\"", |limits| limits.telemetry_silence_s = 300.0),
            ("restarted = \"1 h\"", |limits| limits.restarted_s = 3600.0),
        ];
        for (key, set) in keys {
            let mut expected = Limits::default();
            set(&mut expected);
            assert_eq!(with(&format!("[health]\n{key}\n")), Ok(expected), "{key}");
        }
    }

    #[test]
    fn every_invalid_limit_is_reported_with_the_allowed_values() {
        let error =
            with("[health]\nwifi_latency = \"0 ms\"\nbusy_air = \"110 %\"\ncall_rating = 94\nwifi_latncy = \"1 s\"\n")
                .expect_err("four are wrong");
        for part in
            ["box.toml:7:", "1 ms to 60 s", "box.toml:8:", "0.1 % to 100 %", "box.toml:9:", "1 to 93", "wifi_latency"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
