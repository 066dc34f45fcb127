//! Random choices that can be made again from the printed seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// xorshift: enough for moments and samples.
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice with the seed in `CRASH_SEED`, or a new one. It is printed.
    pub(crate) fn thrown_for(what: &str) -> Self {
        let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() >> 3).unwrap();
        let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(now);
        eprintln!("{what}: CRASH_SEED={seed}");
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
