//! Every world that steps can lead to, breadth first, until a promise is broken.

use crate::model::{Broken, Protocol, Step, World};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many worlds there are, or a shortest way to a broken promise.
pub fn search(protocol: &Protocol) -> Result<usize, (Broken, Vec<Step>)> {
    let all = Step::all();
    // Of a world only the hash is kept: that two of a million share one has a chance of 1 to 10^7.
    let mut reached = HashSet::from([hash_of(&World::new())]);
    // Which step led to a world, and from which.
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let mut level = vec![(usize::MAX, World::new())];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (number, world) in level {
            for &step in &all {
                match world.after(step, protocol) {
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
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
