//! Every world that steps can lead to, breadth first, until a promise is broken.

use crate::world::{Broken, Scope, Step, World};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Mutex;
use std::thread;

/// The world with this number, and where it stands in the list of steps.
type Numbered = (usize, World);

/// A broken promise, the world before it, and the step that broke it.
type BrokenAfter = (Broken, usize, Step);

/// How many worlds there are, or a shortest way to a broken promise.
pub fn search(scope: &Scope) -> Result<usize, (Broken, Vec<Step>)> {
    let all = Step::of(scope);
    let reached = Reached::default();
    reached.insert(&World::new(scope));
    // Which step led to a world, and from which.
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let mut level = vec![(usize::MAX, World::new(scope))];
    let workers = thread::available_parallelism().map_or(1, usize::from);
    while !level.is_empty() {
        let found: Result<Vec<_>, BrokenAfter> = thread::scope(|threads| {
            let parts = level.chunks(level.len().div_ceil(workers));
            let parts: Vec<_> = parts
                .map(|part| threads.spawn(|| reached.next_worlds(part, &all, scope)))
                .collect();
            parts.into_iter().map(|part| part.join().expect("a search panicked")).collect()
        });
        let found = found.map_err(|(broken, number, step)| {
            let before = std::iter::successors(steps.get(number), |(number, _)| steps.get(*number));
            let mut way: Vec<_> = before.map(|(_, step)| *step).collect();
            way.reverse();
            way.push(step);
            (broken, way)
        })?;
        level.clear();
        for (number, step, world) in found.into_iter().flatten() {
            level.push((steps.len(), world));
            steps.push((number, step));
        }
    }
    Ok(reached.count())
}

/// The worlds that were reached, in parts, so that threads seldom wait for each other. Of a world
/// only the hash is kept: that two of a million share one has a chance of 1 to 10^7.
#[derive(Default)]
struct Reached([Mutex<HashSet<u64, BuildHasherDefault<Mixer>>>; 32]);

impl Reached {
    /// Whether it is reached for the first time.
    fn insert(&self, world: &World) -> bool {
        let hash = hash_of(world);
        let part = &self.0[(hash >> 32) as usize % self.0.len()];
        part.lock().expect("a search panicked").insert(hash)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|part| part.lock().expect("a search panicked").len()).sum()
    }

    /// The worlds that a step from these reaches for the first time.
    fn next_worlds(
        &self,
        level: &[Numbered],
        steps: &[Step],
        scope: &Scope,
    ) -> Result<Vec<(usize, Step, World)>, BrokenAfter> {
        let mut next = Vec::new();
        for (number, world) in level {
            for &step in steps {
                let mut after = *world;
                let Some(taken) = after.step(step, scope) else { continue };
                taken.map_err(|broken| (broken, *number, step))?;
                if self.insert(&after) {
                    next.push((*number, step, after));
                }
            }
        }
        Ok(next)
    }
}

fn hash_of(world: &World) -> u64 {
    let mut hasher = Mixer::default();
    world.hash(&mut hasher);
    hasher.finish()
}

/// A hash of small numbers: eight bytes at a time are multiplied into the state, whose halves are
/// folded. That of std takes most of a search's time.
#[derive(Default)]
struct Mixer {
    state: u64,
    /// Bytes that are not mixed yet, and how many bits they are.
    bytes: u64,
    bits: u32,
}

impl Mixer {
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.state ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(value ^ 0xe703_7ed1_a0b4_28db);
        self.state = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x8ebc_6af0_9c88_c6e3);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, byte: u8) {
        self.bytes |= u64::from(byte) << self.bits;
        self.bits += 8;
        if self.bits == u64::BITS {
            self.mix(self.bytes);
            (self.bytes, self.bits) = (0, 0);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    /// Which variant of an enum.
    fn write_isize(&mut self, value: isize) {
        self.write_u8(value as u8);
    }

    fn finish(&self) -> u64 {
        let mut last = Mixer { state: self.state, ..Mixer::default() };
        last.mix(self.bytes);
        last.mix(self.state.rotate_left(32));
        last.state
    }
}
