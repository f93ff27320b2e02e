//! Provides the seed of random inputs. The seed is the value of the environment variable `SEED`, or
//! 1 if the variable is not set. The nightly checks set the variable to a random number.

#[expect(clippy::panic, reason = "a run with a seed other than the requested one proves nothing")]
pub fn seed() -> u64 {
    let Ok(seed) = std::env::var("SEED") else { return 1 };
    seed.parse().unwrap_or_else(|_| panic!("SEED must be a whole number, not {seed:?}"))
}

/// Returns the configuration of property tests. A failure is reported with a minimized input,
/// but not saved in a file. `PROPTEST_CASES` sets the number of cases.
pub fn property_config() -> proptest::prelude::ProptestConfig {
    use proptest::{prelude::ProptestConfig, test_runner::RngSeed};
    let rng_seed = RngSeed::Fixed(seed());
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}
