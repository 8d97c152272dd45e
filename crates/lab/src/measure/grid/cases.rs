//! The cases: levels of seven factors, such that any two levels of different factors occur together at least once, and all
//! combinations of queue, direction and congestion control, which interact the most.
//!
//! The simulator has no BBR; Reno is the second congestion control, because of its deeper and slower sawtooth.

use std::fmt;

/// The factors and their levels. `stations` are those of each access point, `rtt` is the Internet's in milliseconds, without the
/// WLAN. The PHY is 802.11g at 54 Mb/s or 802.11b at 11 Mb/s.
#[cfg(test)]
const FACTORS: [(&str, &[&str]); 7] = [
    ("queue", &["fifo-20", "fifo-100", "fifo-1000", "station-fifo", "mac80211"]),
    ("direction", &["down", "up", "both"]),
    ("stations", &["1", "4", "20"]),
    ("access points", &["1", "3"]),
    ("sender", &["cubic", "reno"]),
    ("rtt", &["10", "50", "300"]),
    ("phy", &["g", "b"]),
];

/// One case per line, the levels in the order of the factors.
const TABLE: &str = "\
fifo-20       down       1         1              cubic   10      g
fifo-20       down       20        3              reno    10      b
fifo-20       up         4         3              cubic   300     g
fifo-20       up         4         1              reno    50      b
fifo-20       both       20        1              cubic   300     b
fifo-20       both       1         3              reno    50      g
fifo-100      down       20        1              cubic   50      b
fifo-100      down       4         3              reno    50      g
fifo-100      up         1         3              cubic   10      b
fifo-100      up         20        1              reno    300     g
fifo-100      both       1         1              cubic   10      g
fifo-100      both       4         3              reno    300     b
fifo-1000     down       20        1              cubic   10      g
fifo-1000     down       1         3              reno    50      b
fifo-1000     up         1         1              cubic   300     b
fifo-1000     up         4         3              reno    10      g
fifo-1000     both       4         1              cubic   50      b
fifo-1000     both       20        3              reno    300     g
station-fifo  down       4         3              cubic   10      g
station-fifo  down       4         1              reno    300     b
station-fifo  up         1         1              cubic   50      g
station-fifo  up         20        3              reno    50      b
station-fifo  both       1         3              cubic   300     b
station-fifo  both       20        1              reno    10      g
mac80211      down       20        1              cubic   300     b
mac80211      down       1         3              reno    300     g
mac80211      up         20        3              cubic   50      g
mac80211      up         1         1              reno    10      b
mac80211      both       4         3              cubic   10      b
mac80211      both       4         1              reno    50      g";

/// One network and its traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    levels: [&'static str; 7],
}

/// All cases.
pub fn all() -> Vec<Case> {
    let case = |line: &'static str| {
        let levels: Vec<&str> = line.split_whitespace().collect();
        Case { levels: levels.try_into().expect("a level of each factor") }
    };
    TABLE.lines().map(case).collect()
}

/// The name of a case: its level of each factor.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [queue, direction, stations, points, sender, rtt, phy] = self.levels;
        write!(f, "{queue} {direction} {stations} sta {points} ap {sender} {rtt} ms 11{phy}")
    }
}

impl Case {
    /// Bound of the 95th percentile of the time in the access point, ms: a few of the largest frames of the PHY, and of those of
    /// the other access points if they share the medium.
    pub fn delay_bound_ms(&self) -> f64 {
        match (self.points(), self.is_slow()) {
            (1, false) => 5.0,
            (1, true) => 10.0,
            _ => 15.0,
        }
    }

    /// The directions of its transfers.
    pub fn directions(&self) -> &'static [&'static str] {
        match self.levels[1] {
            "down" => &["down"],
            "up" => &["up"],
            _ => &["down", "up"],
        }
    }

    /// Number of stations of all access points.
    pub fn all_stations(&self) -> usize {
        self.points() * self.levels[2].parse::<usize>().expect("a number")
    }

    fn points(&self) -> usize {
        self.levels[3].parse().expect("a number")
    }

    fn is_slow(&self) -> bool {
        self.levels[6] == "b"
    }

    fn radio(&self) -> String {
        let queue = match self.levels[0] {
            "station-fifo" => "ap_queue = { discipline = \"station-fifo\" }".to_owned(),
            // Linux's limit.
            "mac80211" => "ap_buffer = \"8192 packets\"\nap_queue = { discipline = \"mac80211\" }".to_owned(),
            fifo => format!("ap_buffer = \"{} packets\"", fifo.trim_start_matches("fifo-")),
        };
        format!("[radio]\nstandard = \"802.11{}\"\n{queue}\n", self.levels[6])
    }

    /// The access points, all on one channel, with a group of stations each.
    fn cells(&self) -> String {
        let (count, rate) = (self.levels[2], if self.is_slow() { 11 } else { 54 });
        let cell = |at: usize| {
            format!(
                "[[access_point]]\nname = \"ap{at}\"\nchannel = 1\n\
                 [[station]]\nname = \"s{at}\"\ncount = {count}\nrate = \"{rate} Mb/s\"\naccess_point = \"ap{at}\"\n"
            )
        };
        (0..self.points()).map(cell).collect()
    }

    fn traffic(&self) -> String {
        let groups: Vec<String> = (0..self.points()).map(|at| format!("\"s{at}\"")).collect();
        let transfers = |direction: &&str| {
            format!(
                "[[bulk]]\nname = \"{direction}\"\nstations = [{}]\nserver = \"server\"\ndirection = \"{direction}\"\n",
                groups.join(", ")
            )
        };
        let server = format!(
            "[tcp]\ncongestion_control = \"{}\"\n[[server]]\nname = \"server\"\nat = \"wan\"\n",
            self.levels[4]
        );
        server + &self.directions().iter().map(transfers).collect::<String>()
    }

    fn internet(&self) -> String {
        let half = self.levels[5].parse::<u32>().expect("a number") / 2;
        ["down", "up"].map(|way| format!("[wan.{way}]\nrate = \"1 Gb/s\"\ndelay = \"{half} ms\"\n")).concat()
    }

    /// Its scenario: 25 s are measured, from 10 s after the box's tables `box_at_5_s` came into effect.
    pub fn scenario(&self, seed: u32, box_at_5_s: &str) -> String {
        let insert = "[[event]]\nat = \"5 s\"\ndo = \"insert\"\n";
        format!(
            "version = 1\nname = \"grid\"\nseed = {seed}\nduration = \"40 s\"\n\
             [telemetry]\nstations = false\nrates = false\n\
             [[phase]]\nname = \"measured\"\nfrom = \"15 s\"\nto = \"40 s\"\n{}{}{}{}{}{box_at_5_s}",
            self.radio(),
            self.cells(),
            self.traffic(),
            self.internet(),
            if box_at_5_s.is_empty() { "" } else { insert },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of levels of two factors that no case has.
    fn missing(cases: &[Case]) -> Vec<String> {
        let mut missing = Vec::new();
        for (a, (first, first_levels)) in FACTORS.iter().enumerate() {
            for (b, (second, second_levels)) in FACTORS.iter().enumerate().skip(a + 1) {
                for x in *first_levels {
                    for y in *second_levels {
                        if !cases.iter().any(|case| case.levels[a] == *x && case.levels[b] == *y) {
                            missing.push(format!("{first} {x} with {second} {y}"));
                        }
                    }
                }
            }
        }
        missing
    }

    #[test]
    fn any_two_levels_occur_together() {
        let cases = all();
        assert_eq!(missing(&cases), Vec::<String>::new());
        // Canary: the check finds missing pairs.
        let has_both = |case: &Case| case.levels[0] == "fifo-20" && case.levels[5] == "300";
        let without: Vec<Case> = cases.into_iter().filter(|case| !has_both(case)).collect();
        assert!(missing(&without).contains(&"queue fifo-20 with rtt 300".to_owned()));
    }

    #[test]
    fn each_level_is_one_of_its_factor_and_no_case_is_listed_twice() {
        let cases = all();
        for case in &cases {
            for (level, (factor, levels)) in case.levels.iter().zip(FACTORS) {
                assert!(levels.contains(level), "{case}: {factor} {level}");
            }
            assert_eq!(cases.iter().filter(|other| *other == case).count(), 1, "{case}");
        }
    }

    #[test]
    fn queue_direction_and_sender_occur_in_all_combinations() {
        let [queues, directions, _, _, senders, ..] = FACTORS;
        for (queue, direction) in queues.1.iter().flat_map(|queue| directions.1.iter().map(move |d| (queue, d))) {
            for sender in senders.1 {
                let has =
                    |case: &&Case| [case.levels[0], case.levels[1], case.levels[4]] == [*queue, *direction, *sender];
                assert_eq!(all().iter().filter(has).count(), 1, "{queue} {direction} {sender}");
            }
        }
    }

    #[test]
    fn each_is_a_scenario() {
        for case in all() {
            let text = case.scenario(1, "[manager.controller]\nkind = \"queue\"\n");
            let parsed = evenair_scenario::Scenario::parse(&text, "grid.toml");
            assert!(parsed.is_ok(), "{case}: {:?}", parsed.err());
        }
    }
}
