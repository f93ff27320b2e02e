//! A set of order ids that are numbered from 1 and close together, a bit each:
//! thousands of lists are kept until they have been checked.

/// A set of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet(Vec<u64>);

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

    /// Whether it has the id.
    pub fn contains(&self, id: usize) -> bool {
        self.0.get(id / 64).is_some_and(|word| word & (1 << (id % 64)) != 0)
    }

    /// Its ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.end()).filter(|id| self.contains(*id))
    }

    /// Greater than any of its ids.
    pub fn end(&self) -> usize {
        self.0.len() * 64
    }

    /// Adds those of `all` that are missing from `some`.
    pub fn add_missing(&mut self, all: &IdSet, some: &IdSet) {
        if self.0.len() < all.0.len() {
            self.0.resize(all.0.len(), 0);
        }
        for (index, (own, all)) in self.0.iter_mut().zip(&all.0).enumerate() {
            *own |= all & !some.0.get(index).copied().unwrap_or_default();
        }
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
        assert!(set.contains(65) && !set.contains(1_000));
        let mut missing = IdSet::default();
        missing.add_missing(&set, &[64].into_iter().collect());
        assert_eq!(missing.iter().collect::<Vec<_>>(), [1, 65, 200]);
    }
}
