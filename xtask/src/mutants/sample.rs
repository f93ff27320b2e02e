//! Draws a sample of mutants that depends on the seed and on their names alone.

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use std::str::FromStr;

/// The first `count` of the names in an order that the seed decides.
pub fn draw(mut names: Vec<String>, seed: u64, count: usize) -> Vec<String> {
    names.sort_by_cached_key(|name| Sha256::digest(format!("{seed}:{name}")));
    names.truncate(count);
    names
}

/// A part of a sample, from 1/1, which is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Shard> {
        let (number, of) = text.split_once('/').context("a shard is K/N, such as 1/2")?;
        let shard = Shard { number: number.parse()?, of: of.parse()? };
        if !(1..=shard.of).contains(&shard.number) {
            bail!("a shard is between 1/N and N/N");
        }
        Ok(shard)
    }
}

impl Shard {
    /// Its part of the sample.
    pub fn part(self, sample: Vec<String>) -> Vec<String> {
        sample.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        (0..100).map(|number| format!("mutant {number}")).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_sample_in_whatever_order_they_are_listed() {
        let drawn = draw(names(), 1, 10);
        assert_eq!(draw(names().into_iter().rev().collect(), 1, 10), drawn);
        assert_eq!(draw(names(), 1, 20)[..10], drawn, "a larger sample has the smaller one");
        assert_ne!(draw(names(), 2, 10), drawn);
    }

    #[test]
    fn shards_are_the_whole_sample_and_share_nothing() {
        let drawn = draw(names(), 1, 11);
        let parts = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Shard>().unwrap());
        let mut together: Vec<_> =
            parts.into_iter().flat_map(|shard| shard.part(drawn.clone())).collect();
        together.sort();
        let mut all = drawn;
        all.sort();
        assert_eq!(together, all);
        for wrong in ["", "1", "0/2", "3/2", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
