//! Lets list requests share queries for the store's last changes. A list request uses the first
//! query that is sent after the request arrived. An earlier query may miss a change that was
//! committed before the request arrived.

use super::lease::Time;
use std::time::Duration;

/// The accuracy of timers. Shorter waits are skipped, because a timer would prolong them to this
/// time.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// The freshness queries of a session: the next one, and the number in flight. `C` is the data that
/// the caller keeps for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedQueries<C> {
    next: C,
    is_awaited: bool,
    under_way: usize,
}

impl<C> SharedQueries<C> {
    pub fn new(next: C) -> SharedQueries<C> {
        SharedQueries { next, is_awaited: false, under_way: 0 }
    }

    /// Adds a list request to the next query. Returns that query's data, which the caller may
    /// update.
    pub fn join(&mut self) -> &mut C {
        self.is_awaited = true;
        &mut self.next
    }

    /// Returns the next query if a list request waits for the query and fewer than `most` queries
    /// are in flight.
    pub fn due(&self, most: usize) -> Option<&C> {
        (self.is_awaited && self.under_way < most).then_some(&self.next)
    }

    /// Returns the next query, which the caller must send now. List requests that arrive later join
    /// the query `after`.
    pub fn send(&mut self, after: C) -> C {
        self.is_awaited = false;
        self.under_way += 1;
        std::mem::replace(&mut self.next, after)
    }

    pub fn record_answer(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

/// Returns the earliest time for the next query, if the last query was sent at `sent`. At most
/// `most` queries are in flight, spread evenly over one round trip. If all `most` queries were sent
/// at once, a later list request could wait almost a whole round trip for the next query.
pub fn next_from<T: Time>(sent: T, round_trip: Duration, most: usize) -> T {
    let share = round_trip / most as u32;
    if share < TIMER_RESOLUTION { sent } else { sent + share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_list_request_takes_the_first_query_sent_after_it_arrived() {
        let mut queries = SharedQueries::new(1);
        assert_eq!(queries.due(2), None);
        assert_eq!(*queries.join(), 1);
        assert_eq!(queries.due(2), Some(&1));
        assert_eq!(queries.send(2), 1);
        assert_eq!(queries.due(2), None, "no request waits");
        assert_eq!(*queries.join(), 2, "not the query in flight");
        assert_eq!(queries.due(1), None);
        assert_eq!(queries.send(3), 2);
        queries.join();
        assert_eq!(queries.due(2), None);
        queries.record_answer();
        assert_eq!(queries.due(2), Some(&3));
    }

    /// Simulates list requests that arrive every millisecond for ten round trips. Returns their
    /// waiting times in milliseconds, in ascending order.
    fn waiting_times_ms(round_trip: u32, most: usize) -> Vec<u32> {
        let mut queries = SharedQueries::new(Vec::<u32>::new());
        let (mut in_flight, mut waits) = (VecDeque::<(u32, Vec<u32>)>::new(), Vec::new());
        let mut free_from = Duration::ZERO;
        for now in 0..10 * round_trip {
            if in_flight.front().is_some_and(|(sent, _)| now - sent == round_trip) {
                let (_, arrivals) = in_flight.pop_front().unwrap();
                waits.extend(arrivals.into_iter().map(|arrived| now - arrived));
                queries.record_answer();
            }
            queries.join().push(now);
            let [time, round_trip] = [now, round_trip].map(|ms| Duration::from_millis(ms.into()));
            let may_follow = in_flight.is_empty() || time >= free_from;
            if may_follow && queries.due(most).is_some() {
                in_flight.push_back((now, queries.send(Vec::new())));
                free_from = next_from(time, round_trip, most);
            }
        }
        waits.sort_unstable();
        waits
    }

    #[test]
    fn steady_list_requests_wait_little_more_than_a_round_trip() {
        let waits = waiting_times_ms(40, 8);
        let percentile_95 = waits[waits.len() * 95 / 100];
        assert!(percentile_95 <= 45, "{percentile_95} ms at a round trip of 40 ms");
    }

    #[test]
    fn short_round_trips_are_not_prolonged_by_timers() {
        let sent = Duration::from_secs(1);
        assert_eq!(next_from(sent, Duration::from_millis(7), 8), sent);
        assert_eq!(next_from(sent, Duration::from_millis(8), 8), Duration::from_millis(1_001));
    }
}
