//! Explores all states of the model that steps can reach, breadth first, until a step breaks a
//! promise.

use crate::world::{Broken, Scope, Step, World};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Mutex;
use std::thread;

/// A state, and the index of the step that first reached the state. The index is for `steps` in
/// [`search`], or `usize::MAX` for the initial state.
type Numbered = (usize, World);

/// A broken promise, and the step that broke the promise. The number identifies the state before
/// the step (see [`Numbered`]).
type BrokenAfter = (Broken, usize, Step);

/// Returns the number of reachable states. If a step can break a promise, fails with a shortest
/// sequence of steps that ends in such a step.
pub fn search(scope: &Scope) -> Result<usize, (Broken, Vec<Step>)> {
    let all = Step::all(scope);
    let worlds = ReachedWorlds::default();
    worlds.insert(&World::new(scope));
    // The predecessor's number and the step from there, for each state except the first.
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let mut level = vec![(usize::MAX, World::new(scope))];
    let workers = thread::available_parallelism().map_or(1, usize::from);
    while !level.is_empty() {
        let results: Result<Vec<_>, BrokenAfter> = thread::scope(|threads| {
            let parts = level.chunks(level.len().div_ceil(workers));
            let parts: Vec<_> =
                parts.map(|part| threads.spawn(|| worlds.next_worlds(part, &all, scope))).collect();
            parts.into_iter().map(|part| part.join().expect("a search panicked")).collect()
        });
        let results = results.map_err(|(broken, number, step)| {
            let before = std::iter::successors(steps.get(number), |(number, _)| steps.get(*number));
            let mut path: Vec<_> = before.map(|(_, step)| *step).collect();
            path.reverse();
            path.push(step);
            (broken, path)
        })?;
        level.clear();
        for (number, step, world) in results.into_iter().flatten() {
            level.push((steps.len(), world));
            steps.push((number, step));
        }
    }
    Ok(worlds.count())
}

/// Hashes of the reached states, in parts so that threads rarely wait for the same lock. The search
/// misses a state whose hash equals another state's hash. Among a million states, the probability
/// that any two hashes are equal is below 1 in 10^7.
#[derive(Default)]
struct ReachedWorlds([Mutex<HashSet<u64, BuildHasherDefault<Mixer>>>; 32]);

impl ReachedWorlds {
    fn insert(&self, world: &World) -> bool {
        let hash = hash_of(world);
        let part = &self.0[(hash >> 32) as usize % self.0.len()];
        part.lock().expect("a search panicked").insert(hash)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|part| part.lock().expect("a search panicked").len()).sum()
    }

    /// Takes each step from each state of `level`. Returns the states that no earlier step reached.
    /// Fails if a step breaks a promise.
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
                let Some(result) = after.step(step, scope) else { continue };
                result.map_err(|broken| (broken, *number, step))?;
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

/// A hasher that is fast for small numbers. With the standard hasher, a search would spend most of
/// its time in hashing.
#[derive(Default)]
struct Mixer {
    state: u64,
    /// The bytes that have not been mixed into `state` yet. `bits` is their number of bits.
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

    /// Derived `Hash` passes the discriminants of enums to this method. One byte is enough, because
    /// the enums are small.
    fn write_isize(&mut self, value: isize) {
        self.write_u8(value as u8);
    }

    fn finish(&self) -> u64 {
        let mut mixer = Mixer { state: self.state, ..Mixer::default() };
        mixer.mix(self.bytes);
        mixer.mix(self.state.rotate_left(32));
        mixer.state
    }
}
