//! Independent simulation, microsecond by microsecond, of two saturated stations that do not hear each other, for
//! comparison. It has no events, no carriers and no engine: every microsecond each of the three nodes looks at what
//! the others did.

use evenair_units::{Rng, Streams};

/// 802.11b at 11 Mb/s with packets of 1500 bytes, in microseconds.
pub(crate) const DATA: u64 = 1_310;
const ACK: u64 = 248;
const SLOT: u64 = 20;
const SIFS: u64 = 10;
const DIFS: u64 = 50;
const TIMEOUT: u64 = 222;
const CW_MIN: u64 = 31;
const CW_MAX: u64 = 1_023;
const RETRIES: u32 = 7;

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    /// Duration of silence so far, within the inter-frame space or a slot.
    Contend {
        silence: u64,
        spaced: bool,
    },
    Send {
        left: u64,
    },
    /// Waits this long for the start of its ACK.
    Wait {
        left: u64,
    },
    Hear,
}

struct Station {
    doing: Doing,
    slots: u64,
    window: u64,
    retries: u32,
    rng: Rng,
    delivered: u64,
    attempts: u64,
    failures: u64,
}

impl Station {
    fn new(which: u64) -> Self {
        let mut rng = Streams::new(7).numbered("hidden pair", which);
        let slots = rng.below(CW_MIN + 1);
        let doing = Doing::Contend { silence: 0, spaced: false };
        Self { doing, slots, window: CW_MIN, retries: 0, rng, delivered: 0, attempts: 0, failures: 0 }
    }

    fn conclude(&mut self, success: bool) {
        if success {
            self.delivered += 1;
        } else {
            self.failures += 1;
            self.retries += 1;
        }
        if success || self.retries == RETRIES {
            (self.retries, self.window) = (0, CW_MIN);
        } else {
            self.window = CW_MAX.min(2 * self.window + 1);
        }
        self.slots = self.rng.below(self.window + 1);
        self.doing = Doing::Contend { silence: 0, spaced: false };
    }

    /// Advances one microsecond, in which the access point sends an ACK (`ack` is its receiver) or none.
    fn tick(&mut self, ack: Option<usize>, me: usize) {
        self.doing = match self.doing {
            Doing::Contend { .. } if ack.is_some() => Doing::Contend { silence: 0, spaced: false },
            Doing::Contend { silence, spaced } => {
                let (silence, spaced) = match (silence + 1, spaced) {
                    (DIFS, false) => (0, true),
                    (SLOT, true) => {
                        self.slots -= 1;
                        (0, true)
                    }
                    other => other,
                };
                if spaced && silence == 0 && self.slots == 0 {
                    self.attempts += 1;
                    Doing::Send { left: DATA }
                } else {
                    Doing::Contend { silence, spaced }
                }
            }
            Doing::Send { left: 1 } => Doing::Wait { left: TIMEOUT },
            Doing::Send { left } => Doing::Send { left: left - 1 },
            Doing::Wait { .. } if ack == Some(me) => Doing::Hear,
            Doing::Wait { left: 1 } => return self.conclude(false),
            Doing::Wait { left } => Doing::Wait { left: left - 1 },
            Doing::Hear if ack == Some(me) => Doing::Hear,
            Doing::Hear => {
                self.conclude(true);
                // This microsecond already counts as silence.
                return self.tick(None, me);
            }
        };
    }
}

/// Frames per second that each station delivers, and the share of attempts that failed.
pub(crate) fn simulate(seconds: u64) -> ([f64; 2], f64) {
    let mut stations = [Station::new(0), Station::new(1)];
    // The access point's next response: receiver, microseconds to the ACK, microseconds of ACK.
    let mut answer: Option<(usize, u64, u64)> = None;
    let mut spoiled = [false; 2];
    for _ in 0..seconds * 1_000_000 {
        let sends = [0, 1].map(|i| matches!(stations[i].doing, Doing::Send { .. }));
        let ack = answer.filter(|&(_, until, _)| until == 0).map(|(to, ..)| to);
        let last = [0, 1].map(|i| stations[i].doing == Doing::Send { left: 1 });
        for i in [0, 1] {
            // The access point hears one frame at a time, and none while it sends.
            spoiled[i] = sends[i] && (spoiled[i] || sends[1 - i] || ack.is_some());
        }
        answer = match answer {
            Some((_, 0, 1)) | None => None,
            Some((to, 0, left)) => Some((to, 0, left - 1)),
            Some((to, until, left)) => Some((to, until - 1, left)),
        };
        for i in [0, 1] {
            if last[i] && !spoiled[i] {
                answer = Some((i, SIFS, ACK));
            }
        }
        for (i, station) in stations.iter_mut().enumerate() {
            station.tick(ack, i);
        }
    }
    let attempts: u64 = stations.iter().map(|station| station.attempts).sum();
    let failures: u64 = stations.iter().map(|station| station.failures).sum();
    (stations.map(|station| station.delivered as f64 / seconds as f64), failures as f64 / attempts as f64)
}
