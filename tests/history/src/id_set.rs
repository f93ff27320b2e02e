//! A set of order ids that are numbered from 1 and close together, a bit each: a list is
//! compared with what it must show word by word. Written down it is a text of ranges.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A set of ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IdSet(Vec<u64>);

/// The greatest id in a text: more would be a mistake, and would take the memory.
const MAX_ID: usize = 100_000_000;

impl IdSet {
    /// Adds an id.
    pub fn add(&mut self, id: usize) {
        let (word, bit) = (id / 64, 1 << (id % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Removes an id.
    pub fn remove(&mut self, id: usize) {
        if let Some(word) = self.0.get_mut(id / 64) {
            *word &= !(1 << (id % 64));
        }
    }

    /// Whether it has the id.
    pub fn contains(&self, id: usize) -> bool {
        self.0.get(id / 64).is_some_and(|word| word & (1 << (id % 64)) != 0)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many it has.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Its ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| bits(*word).map(move |b| index * 64 + b))
    }

    /// Those that both have.
    pub fn common<'a>(&'a self, other: &'a IdSet) -> impl Iterator<Item = usize> + 'a {
        self.combined(other, |own, other| own & other)
    }

    /// Those that the other lacks.
    pub fn missing_from<'a>(&'a self, other: &'a IdSet) -> impl Iterator<Item = usize> + 'a {
        self.combined(other, |own, other| own & !other)
    }

    fn combined<'a>(
        &'a self,
        other: &'a IdSet,
        combine: fn(u64, u64) -> u64,
    ) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().enumerate().flat_map(move |(index, own)| {
            let other = other.0.get(index).copied().unwrap_or_default();
            bits(combine(*own, other)).map(move |bit| index * 64 + bit)
        })
    }
}

/// The positions of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

impl Display for IdSet {
    /// `1-3,7`
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut ids = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = ids.next() {
            let mut last = first;
            while let Some(next) = ids.next_if(|next| *next == last + 1) {
                last = next;
            }
            write!(out, "{separator}{first}")?;
            if last > first {
                write!(out, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for IdSet {
    type Err = String;

    fn from_str(text: &str) -> Result<IdSet, String> {
        let mut set = IdSet::default();
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| {
                let id = text.parse().ok().filter(|id| *id <= MAX_ID);
                id.ok_or_else(|| format!("{range:?} is no id and no range of ids"))
            };
            (number(first)?..=number(last)?).for_each(|id| set.add(id));
        }
        Ok(set)
    }
}

impl From<IdSet> for String {
    fn from(set: IdSet) -> String {
        set.to_string()
    }
}

impl TryFrom<String> for IdSet {
    type Error = String;

    fn try_from(text: String) -> Result<IdSet, String> {
        text.parse()
    }
}

impl FromIterator<usize> for IdSet {
    fn from_iter<T: IntoIterator<Item = usize>>(ids: T) -> IdSet {
        let mut set = IdSet::default();
        for id in ids {
            set.add(id);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let mut set: IdSet = [1, 64, 200].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 64, 200]);
        set.add(64);
        set.add(65);
        assert!(set.contains(65) && !set.contains(1_000) && !set.is_empty());
        assert_eq!(set.len(), 4);
        let other: IdSet = [64, 300].into_iter().collect();
        assert_eq!(set.missing_from(&other).collect::<Vec<_>>(), [1, 65, 200]);
        assert_eq!(set.common(&other).collect::<Vec<_>>(), [64]);
        set.remove(200);
        set.remove(9_000);
        assert_eq!(set.to_string(), "1,64-65");
        assert!(IdSet::default().is_empty());
    }

    #[test]
    fn a_text_of_ranges_is_read_as_it_is_written() {
        for text in ["", "7", "1-3,7", "1-64,66,128-130"] {
            assert_eq!(text.parse::<IdSet>().unwrap().to_string(), text);
        }
        for text in ["x", "1-", "-", "1-x", "200000000"] {
            text.parse::<IdSet>().unwrap_err();
        }
    }
}
