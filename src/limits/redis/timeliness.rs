//! Whether requests are decided in time: a slow Redis answers every batch, and still most
//! requests too late.

use std::sync::atomic::{AtomicU32, Ordering};

/// Looks in a row at which half of the requests or more were late, before Redis is too slow.
const SLOW_LOOKS: u32 = 2;

/// Counts requests between two looks.
#[derive(Debug, Default)]
pub struct Timeliness {
    in_time: AtomicU32,
    late: AtomicU32,
    /// Such looks since the last other one.
    slow_looks: AtomicU32,
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Every request was decided in time.
    InTime,
    /// There was none, or some were late.
    Unsteady,
    /// At least half were late, and not only once.
    Slow,
}

impl Timeliness {
    /// Counts a request.
    pub fn note(&self, is_in_time: bool) {
        let count = if is_in_time { &self.in_time } else { &self.late };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Looks at the requests since the last look. One task does.
    pub fn look(&self) -> Pace {
        let in_time = self.in_time.swap(0, Ordering::Relaxed);
        let late = self.late.swap(0, Ordering::Relaxed);
        match (in_time, late) {
            (0, 0) => return Pace::Unsteady,
            _ if late < in_time => self.slow_looks.store(0, Ordering::Relaxed),
            _ => {
                let before = self.slow_looks.fetch_add(1, Ordering::Relaxed);
                return if before + 1 < SLOW_LOOKS { Pace::Unsteady } else { Pace::Slow };
            }
        }
        if late == 0 { Pace::InTime } else { Pace::Unsteady }
    }

    /// Begins with nothing counted.
    pub fn reset(&self) {
        for count in [&self.in_time, &self.late, &self.slow_looks] {
            count.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_slow_once_half_of_the_requests_were_late_twice_in_a_row() {
        let timeliness = Timeliness::default();
        let look = |in_time: u32, late: u32| {
            (0..in_time).for_each(|_| timeliness.note(true));
            (0..late).for_each(|_| timeliness.note(false));
            timeliness.look()
        };
        for (in_time, late, pace) in [
            (9, 0, Pace::InTime),
            (9, 1, Pace::Unsteady),
            (0, 1, Pace::Unsteady),
            (9, 8, Pace::Unsteady),
            (4, 4, Pace::Unsteady),
            (0, 0, Pace::Unsteady),
            (1, 9, Pace::Slow),
            (0, 1, Pace::Slow),
        ] {
            assert_eq!(look(in_time, late), pace, "{in_time} in time, {late} late");
        }
        timeliness.note(false);
        timeliness.reset();
        assert_eq!((look(0, 1), look(0, 1)), (Pace::Unsteady, Pace::Slow));
    }
}
