//! Seeded random streams.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS
//! 47(4), 2021), seeded through SplitMix64 as its authors advise. Every component of a model asks for a stream by its
//! own name, so that adding a station does not disturb the draws of another, and the draws are the same on any machine
//! and under any version of any library.

/// The source of named streams of one run: a run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// One stream of random numbers. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    s: [u64; 4],
}

impl Streams {
    /// The streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The run's seed, for a component that makes its streams itself.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The stream called `name`. The same seed and name always give the same stream.
    pub fn stream(&self, name: &str) -> Rng {
        self.numbered(name, 0)
    }

    /// The streams of a part of the run called `name`: the streams of its components do not depend on other parts.
    pub fn of(&self, name: &str) -> Self {
        Self { seed: self.stream(name).next_u64() }
    }

    /// The `index`-th stream of a family of components called `name` (for instance one per station).
    pub fn numbered(&self, name: &str, index: u64) -> Rng {
        // FNV-1a over the name, then SplitMix64 over (seed, name, index): each step is a bijection of the state, so
        // streams differ wherever any of the three differs (up to collisions of the 64-bit name hash).
        let mut name_hash: u64 = 0xcbf2_9ce4_8422_2325;
        for &byte in name.as_bytes() {
            name_hash = (name_hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut state = self.seed;
        state = split_mix(&mut state) ^ name_hash;
        state = split_mix(&mut state) ^ index;
        Rng { s: core::array::from_fn(|_| split_mix(&mut state)) }
    }
}

impl Rng {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A number in `0..n`, each equally likely (Lemire's method, "Fast random integer generation in an interval",
    /// ACM TOMACS 29(1), 2019: unbiased). Zero where `n` is 0 or 1.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        if n < 2 {
            return 0;
        }
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[allow(clippy::float_arithmetic)] // For models in floating point; decisions use `below` and `chance`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `per_billion / 10^9`.
    pub fn chance(&mut self, per_billion: u32) -> bool {
        self.below(1_000_000_000) < u64::from(per_billion)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// The mixer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a
/// bijection in which each input bit changes half of the output bits. For hashes that need not be secret.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_matches_the_published_reference_output() {
        // First outputs of the authors' C code for the state 1, 2, 3, 4.
        let mut rng = Rng { s: [1, 2, 3, 4] };
        let first: [u64; 4] = core::array::from_fn(|_| rng.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_are_named_and_independent() {
        let streams = Streams::new(7);
        assert_eq!(streams.stream("medium"), Streams::new(7).stream("medium"));
        assert_ne!(streams.stream("medium"), streams.stream("link"));
        assert_ne!(streams.numbered("station", 1), streams.numbered("station", 2));
        assert_ne!(streams.stream("medium"), Streams::new(8).stream("medium"));
    }

    #[test]
    fn below_is_uniform() {
        // Chi-square over 32 cells, 31 degrees of freedom: 61.1 is the 99.9 % point.
        let mut rng = Streams::new(1).stream("below");
        let mut cells = [0u32; 32];
        let draws = 320_000;
        for _ in 0..draws {
            cells[rng.below(32) as usize] += 1;
        }
        let expected = f64::from(draws) / 32.0;
        let chi2: f64 = cells.iter().map(|&c| (f64::from(c) - expected) * (f64::from(c) - expected) / expected).sum();
        assert!(chi2 < 61.1, "chi-square {chi2}");
    }

    #[test]
    fn below_small_ranges_stay_in_range() {
        let mut rng = Streams::new(2).stream("range");
        for n in 0..100 {
            let x = rng.below(n);
            assert!(x < n.max(1));
        }
    }
}
