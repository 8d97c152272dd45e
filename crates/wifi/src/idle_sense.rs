//! Idle Sense's target, and the window of an asymmetric access point.
//!
//! Idle Sense keeps the mean number of idle slots between two transmissions at a target, for any number of stations, by
//! adapting the common contention window. Then an access point with a constant window gets a constant share of the medium.
//!
//! Sources: M. Heusse, F. Rousseau, R. Guillier, A. Duda, "Idle Sense: An Optimal Access Method for High Throughput and
//! Fairness in Rate Diverse Wireless LANs", SIGCOMM 2005, for the targets. E. Lopez-Aguilera, M. Heusse, Y. Grunenberger,
//! F. Rousseau, A. Duda, J. Casademont, "An Asymmetric Access Point for Solving the Unfairness Problem in WLANs", IEEE
//! Trans. Mobile Computing 7(10), 2008, for the principle of the second. The window follows from our own slot model below,
//! since here a back-off of zero slots is sent at once, ahead of all others.

use crate::{Phy, Standard};

/// Target idle slots between transmissions, which maximise the throughput: 5.68 for 802.11b, 3.91 for the others (SIGCOMM
/// 2005, table 1).
pub const fn target(standard: Standard) -> f64 {
    match standard {
        Standard::Dot11b => 5.68,
        _ => 3.91,
    }
}

/// Head start of the senders after a collision, in slots: they wait for their response timeout and then DIFS, all others
/// EIFS.
pub fn head_start(phy: &Phy) -> f64 {
    let (others, senders) = (phy.eifs().as_secs_f64(), (phy.response_timeout() + phy.difs()).as_secs_f64());
    ((others - senders) / phy.slot().as_secs_f64()).max(0.0)
}

/// The window, in slots and fractions, with which an access point gets `ratio` times the total of many stations with Idle
/// Sense, at `target` idle slots between transmissions, if the senders of a collision are `head_start` slots ahead.
///
/// Time is measured in idle slots that all count. The access point draws from a window `w`. Of its attempts, a share 1 /
/// (`w` + 1) comes at once after its own access, `x` within its head start, and `p` at slot boundaries at which no station
/// begins with probability `q` and exactly one with `-q ln q`. In the head start it counts `e` additional slots. Then
///
/// ```text
/// e = p (1 - q) E[min(back-off, head start)],  x = p (1 - q) head start / (w + 1),  all attempts a = (1 + e) 2 / w
/// transmissions:  1 / target = 1 - (1 - p) q + (a - p)
/// successes:      p q + (a - p) = ratio * (1 - p) (-q ln q)
/// ```
///
/// # Panics
/// If there is no such window: `target` or `ratio` is not above zero.
pub fn access_point_window(target: f64, ratio: f64, head_start: f64) -> f64 {
    assert!(target > 0.0 && ratio > 0.0, "a target and a ratio are above zero");
    let (mut low, mut high) = (1.5, 1e6);
    for _ in 0..100 {
        let middle = libm::sqrt(low * high);
        if excess(middle, target, ratio, head_start) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// Successes per slot of the access point above its target share, with the window `w`.
fn excess(w: f64, target: f64, ratio: f64, head_start: f64) -> f64 {
    let ahead = head_start.min(w);
    let mean_ahead = ahead - ahead * ahead / (2.0 * (w + 1.0));
    let (mut p, mut q, mut alone) = (2.0 / (w + 1.0), 0.9, 0.0);
    // The head start is a small correction that converges within a few rounds.
    for _ in 0..60 {
        let collisions = 2.0 / (w + 1.0) * (1.0 - q);
        let attempts = 2.0 / w * (1.0 + collisions * mean_ahead);
        alone = attempts / (w + 1.0) + collisions * ahead / (w + 1.0);
        p = attempts - alone;
        q = (1.0 + alone - 1.0 / target) / (1.0 - p);
        if q >= 1.0 {
            // Its attempts alone exceed the target.
            return f64::INFINITY;
        }
    }
    p * q + alone - ratio * (1.0 - p) * -q * libm::log(q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_near_that_of_uniform_slots() {
        // If no node could begin at once: x / (1 - x) = 2 (ln(1 + 1/n) + ln(1 - x)), solved by hand for n = 5.68.
        let x = 0.1015;
        let alike = 2.0 / x - 2.0;
        let ours = access_point_window(5.68, 2.0, 0.0);
        assert!((0.95..1.15).contains(&(ours / alike)), "{ours} beside {alike}");
    }

    #[test]
    fn a_larger_part_takes_a_smaller_window() {
        let windows = [0.5, 1.0, 2.0, 4.0].map(|ratio| access_point_window(5.68, ratio, 0.0));
        assert!(windows.is_sorted_by(|a, b| a > b), "{windows:?}");
    }
}
