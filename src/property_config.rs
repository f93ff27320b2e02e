//! How property tests run: with a fixed seed, so that they fail for a reason.
//! `PROPTEST_RNG_SEED` sets another, and `PROPTEST_CASES` the number of cases.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

const SEED: u64 = 20_260_615;

/// The configuration of every property test of this crate.
pub fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(SEED),
        fixed => fixed,
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..config }
}
