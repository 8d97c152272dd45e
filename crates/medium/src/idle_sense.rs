//! Idle Sense: a contention window that keeps the mean number of idle slots between transmissions at a target.
//!
//! With fewer idle slots than the target the window grows, with more it shrinks. There is no exponential back-off.
//!
//! Source: Heusse, Rousseau, Guillier, Duda, "Idle Sense", SIGCOMM 2005. In the paper each station has its own window,
//! and all converge by additive increase and multiplicative decrease of their attempt rates. Where all nodes hear the
//! same slots, one window serves all; a node that joins uses it, too.
//!
//! [`Adaptation::Aimd`] has the constants of section 4 of the paper. With these the mean is off the target, above it with
//! few stations and below it with many, because the mean of a few transmissions is noisy: at a window where the two steps
//! are of unequal size the smaller is taken more often. [`Adaptation::Proportional`] changes the window at each
//! transmission in proportion to the deviation, so that the mean deviation is zero.

/// How the window adapts to the observed idle slots.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Adaptation {
    /// In proportion to the deviation from the target.
    #[default]
    Proportional,
    /// By additive increase and multiplicative decrease, as published.
    Aimd,
}

/// Configuration of Idle Sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleSenseConfig {
    /// Target for the mean number of idle slots between two transmissions, in hundredths.
    pub target: u32,
    /// How the window adapts.
    pub adaptation: Adaptation,
}

/// AIMD: factor by which the window grows, in 1/10000: 1.0666.
const GROW: u64 = 10_666;
/// AIMD: inverse of the step of the attempt rate, which grows by 1/1000 per slot.
const STEP: u64 = 1_000;
/// AIMD: transmissions averaged while far from the target.
const FEW: u64 = 5;
/// AIMD: distance from the target, in hundredths of a slot, within which the mean is taken over a quarter of the window.
const NEAR: u64 = 75;
const PART_OF_WINDOW: u64 = 4;
/// Proportional: inverse gain. The window follows within some hundred transmissions, and its mean is off by half of
/// 1/256.
const GAIN: i64 = 256;
/// Proportional: idle slots count up to this multiple of the target, as longer silence means that no node had a frame.
const SILENCE: u64 = 8;
/// One slot in the fixed-point unit of windows, 2^-16 of a slot.
const ONE: u64 = 1 << 16;
/// Initial window: CWmin of 802.11b.
const FIRST: u64 = 31 * ONE;

/// State of Idle Sense of one medium.
#[derive(Clone, Debug)]
pub(crate) struct IdleSense {
    config: IdleSenseConfig,
    window: u64,
    idle: u64,
    transmissions: u64,
    /// AIMD: transmissions to average.
    enough: u64,
}

impl Default for IdleSenseConfig {
    /// The target for 802.11b.
    fn default() -> Self {
        Self { target: 568, adaptation: Adaptation::Proportional }
    }
}

impl IdleSense {
    /// Largest window, in slots; enough for hundreds of stations.
    pub(crate) const MAX_WINDOW: u32 = 16_383;

    pub(crate) fn new(config: IdleSenseConfig) -> Self {
        Self { config, window: FIRST, idle: 0, transmissions: 0, enough: FEW }
    }

    /// The window: back-off is drawn from 0 to this many slots.
    pub(crate) fn window(&self) -> u32 {
        ((self.window + ONE / 2) / ONE) as u32
    }

    /// The medium becomes busy after this many idle slots.
    pub(crate) fn observe(&mut self, slots: u64) {
        let window = match self.config.adaptation {
            Adaptation::Proportional => self.in_proportion(slots),
            Adaptation::Aimd => self.aimd(slots),
        };
        self.window = window.clamp(ONE, u64::from(Self::MAX_WINDOW) * ONE);
    }

    fn in_proportion(&self, slots: u64) -> u64 {
        let target = i64::from(self.config.target);
        let heard = 100 * slots.min(SILENCE * u64::from(self.config.target) / 100 + 1) as i64;
        let window = self.window as i64;
        (window + window / GAIN * (target - heard) / target) as u64
    }

    fn aimd(&mut self, slots: u64) -> u64 {
        self.idle += slots;
        self.transmissions += 1;
        if self.transmissions < self.enough {
            return self.window;
        }
        let (mean, target) = (100 * self.idle / self.transmissions, u64::from(self.config.target));
        let window = if mean < target {
            self.window * GROW / 10_000
        } else {
            // 2 w / (2 + w / 1000)
            (u128::from(self.window) * u128::from(2 * STEP * ONE) / u128::from(2 * STEP * ONE + self.window)) as u64
        };
        (self.idle, self.transmissions) = (0, 0);
        let is_near = mean.abs_diff(target) < NEAR;
        self.enough = if is_near { (window / ONE / PART_OF_WINDOW).max(1) } else { FEW };
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_below_the_target_and_falls_above() {
        for adaptation in [Adaptation::Proportional, Adaptation::Aimd] {
            let mut sense = IdleSense::new(IdleSenseConfig { target: 568, adaptation });
            (0..300).for_each(|_| sense.observe(1));
            let wide = sense.window();
            if adaptation == Adaptation::Aimd {
                // Sixty steps of 1.0666.
                assert_eq!(wide, 1484);
            }
            assert!(wide > 50, "{wide}");
            (0..2000).for_each(|_| sense.observe(20));
            assert!(sense.window() < wide / 2, "{}", sense.window());
            (0..100_000).for_each(|_| sense.observe(0));
            assert_eq!(sense.window(), IdleSense::MAX_WINDOW);
            (0..1_000_000).for_each(|_| sense.observe(1000));
            assert!(sense.window() <= 2, "{}", sense.window());
        }
    }
}
