//! Which question a list waits for, and when it is sent. Several are under way at once, and a list
//! takes the first that is sent after it arrived: one that was sent before may lack what was
//! committed in between.

use super::lease::Time;
use std::time::Duration;

/// Timers are not more accurate: shorter waits would become as long.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// The questions of a session, which know nothing of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedQueries<C> {
    /// The one that is sent next.
    next: C,
    is_awaited: bool,
    under_way: usize,
}

impl<C> SharedQueries<C> {
    /// None under way.
    pub fn new(next: C) -> SharedQueries<C> {
        SharedQueries { next, is_awaited: false, under_way: 0 }
    }

    /// The question for a list that arrives now.
    pub fn join(&mut self) -> &mut C {
        self.is_awaited = true;
        &mut self.next
    }

    /// The question that is sent next, if one is to be sent while so many may be under way.
    pub fn due(&self, most: usize) -> Option<&C> {
        (self.is_awaited && self.under_way < most).then_some(&self.next)
    }

    /// Sends it. Lists that arrive from now on wait for the one `after`.
    pub fn send(&mut self, after: C) -> C {
        self.is_awaited = false;
        self.under_way += 1;
        std::mem::replace(&mut self.next, after)
    }

    /// One was answered.
    pub fn answered(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

/// From when another question may follow one that was sent then, while so many may be under way and
/// an answer takes this long. A burst of lists would otherwise have all of them sent at once, and
/// the next list would wait for almost a round trip until its own can be.
pub fn next_from<T: Time>(sent: T, round_trip: Duration, most: usize) -> T {
    let share = round_trip / most as u32;
    if share < TIMER_RESOLUTION { sent } else { sent + share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_list_takes_the_first_question_that_is_sent_after_it_arrived() {
        let mut questions = SharedQueries::new(1);
        assert_eq!(questions.due(2), None);
        assert_eq!(*questions.join(), 1);
        assert_eq!(questions.due(2), Some(&1));
        assert_eq!(questions.send(2), 1);
        assert_eq!(questions.due(2), None, "nobody waits");
        assert_eq!(*questions.join(), 2, "not the one under way");
        assert_eq!(questions.due(1), None);
        assert_eq!(questions.send(3), 2);
        questions.join();
        assert_eq!(questions.due(2), None);
        questions.answered();
        assert_eq!(questions.due(2), Some(&3));
    }

    /// How long lists wait that arrive every millisecond for ten round trips, in milliseconds and
    /// in ascending order.
    fn waits(round_trip: u32, most: usize) -> Vec<u32> {
        let mut questions = SharedQueries::new(Vec::<u32>::new());
        let (mut under_way, mut waits) = (VecDeque::<(u32, Vec<u32>)>::new(), Vec::new());
        let mut free_from = Duration::ZERO;
        for now in 0..10 * round_trip {
            if under_way.front().is_some_and(|(sent, _)| now - sent == round_trip) {
                let (_, lists) = under_way.pop_front().unwrap();
                waits.extend(lists.into_iter().map(|arrived| now - arrived));
                questions.answered();
            }
            questions.join().push(now);
            let [at, round_trip] = [now, round_trip].map(|ms| Duration::from_millis(ms.into()));
            let may_follow = under_way.is_empty() || at >= free_from;
            if may_follow && questions.due(most).is_some() {
                under_way.push_back((now, questions.send(Vec::new())));
                free_from = next_from(at, round_trip, most);
            }
        }
        waits.sort_unstable();
        waits
    }

    #[test]
    fn a_stream_of_lists_waits_little_more_than_a_round_trip() {
        let waits = waits(40, 8);
        let percentile_95 = waits[waits.len() * 95 / 100];
        assert!(percentile_95 <= 45, "{percentile_95} ms of 40");
    }

    #[test]
    fn short_round_trips_are_not_prolonged_by_timers() {
        let sent = Duration::from_secs(1);
        assert_eq!(next_from(sent, Duration::from_millis(7), 8), sent);
        assert_eq!(next_from(sent, Duration::from_millis(8), 8), Duration::from_millis(1_001));
    }
}
