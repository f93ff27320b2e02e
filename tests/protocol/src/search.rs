//! Every world that steps can lead to, breadth first, until a promise is broken.

use crate::world::{Broken, Scope, Step, World};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// How many worlds there are, or a shortest way to a broken promise.
pub fn search(scope: &Scope) -> Result<usize, (Broken, Vec<Step>)> {
    let all = Step::of(scope);
    // Of a world only the hash is kept: that two of a million share one has a chance of 1 to 10^7.
    let mut reached = HashSet::<u64, BuildHasherDefault<Mixer>>::default();
    reached.insert(hash_of(&World::new(scope)));
    // Which step led to a world, and from which.
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let mut level = vec![(usize::MAX, World::new(scope))];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (number, world) in level {
            for &step in &all {
                match world.after(step, scope) {
                    Some(Ok(after)) if reached.insert(hash_of(&after)) => {
                        next.push((steps.len(), after));
                        steps.push((number, step));
                    }
                    Some(Ok(_)) | None => {}
                    Some(Err(broken)) => {
                        let before = std::iter::successors(steps.get(number), |(number, _)| {
                            steps.get(*number)
                        });
                        let mut way: Vec<_> = before.map(|(_, step)| *step).collect();
                        way.reverse();
                        way.push(step);
                        return Err((broken, way));
                    }
                }
            }
        }
        level = next;
    }
    Ok(reached.len())
}

fn hash_of(world: &World) -> u64 {
    let mut hasher = Mixer::default();
    world.hash(&mut hasher);
    hasher.finish()
}

/// A hash of small numbers: each is multiplied into the state, whose halves are folded. That of
/// std takes most of a search's time.
#[derive(Default)]
struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        let product =
            u128::from(self.0 ^ 0x9e37_79b9_7f4a_7c15) * u128::from(value ^ 0xe703_7ed1_a0b4_28db);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x8ebc_6af0_9c88_c6e3);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            self.mix(u64::from_le_bytes(value));
        }
    }

    fn finish(&self) -> u64 {
        let mut last = Mixer(self.0);
        last.mix(self.0.rotate_left(32));
        last.0
    }
}
