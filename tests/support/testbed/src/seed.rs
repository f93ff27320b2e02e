//! Provides the seed of random inputs from the environment variable `SEED`, by default 1. The
//! nightly checks set `SEED` to a random number.

#[expect(clippy::panic, reason = "a run with a seed other than the requested one proves nothing")]
pub fn seed() -> u64 {
    let Ok(seed) = std::env::var("SEED") else { return 1 };
    seed.parse().unwrap_or_else(|_| panic!("SEED must be a whole number, not {seed:?}"))
}

/// Returns the configuration of property tests. Failures are not saved in a file. `PROPTEST_CASES`
/// sets the number of cases.
pub fn property_config() -> proptest::prelude::ProptestConfig {
    use proptest::{prelude::ProptestConfig, test_runner::RngSeed};
    let rng_seed = RngSeed::Fixed(seed());
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}
