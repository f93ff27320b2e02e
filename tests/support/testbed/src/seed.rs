//! Where generated inputs begin: at the same place for each change, elsewhere each night.

/// `SEED`, or 1.
#[expect(clippy::panic, reason = "a run with another seed than the one asked for proves nothing")]
pub fn seed() -> u64 {
    let Ok(seed) = std::env::var("SEED") else { return 1 };
    seed.parse().unwrap_or_else(|_| panic!("SEED must be a whole number, not {seed:?}"))
}

/// How property tests run. A failure is in the output, with the least input that brings it about,
/// and in no file. `PROPTEST_CASES` sets the number of cases.
pub fn property_config() -> proptest::prelude::ProptestConfig {
    use proptest::{prelude::ProptestConfig, test_runner::RngSeed};
    let rng_seed = RngSeed::Fixed(seed());
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}
