//! Notices counts that are lost: a Redis that was emptied, or promoted without having
//! everything, says nothing of it.

use super::admission::{Answers, Epoch};
use super::server_facts::{Continuity, ServerFacts};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use slog::{Logger, error, info};

/// What the counts were at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    epoch: Epoch,
    batch: u64,
}

/// The greatest progress that was seen, and how often it was lost.
#[derive(Debug)]
pub struct LostCounts {
    seen: Mutex<Option<Progress>>,
    primary: Mutex<Option<ServerFacts>>,
    times: Counter,
    log: Logger,
}

impl LostCounts {
    /// Nothing seen yet.
    pub fn new(log: Logger) -> LostCounts {
        let (seen, primary) = (Mutex::new(None), Mutex::new(None));
        LostCounts { seen, primary, times: Counter::default(), log }
    }

    /// How often counts were lost.
    pub fn times(&self) -> &Counter {
        &self.times
    }

    /// What a batch that is sent now must be beyond.
    pub fn seen(&self) -> Option<Progress> {
        *self.seen.lock()
    }

    /// Compares what the primary says of its history with what one said before: another
    /// server's batches may hide from the numbers that some were lost.
    pub fn compare_histories(&self, facts: ServerFacts) {
        let mut primary = self.primary.lock();
        let before = primary.replace(facts.clone());
        match before.map_or(Continuity::Kept, |before| facts.continuity(&before)) {
            Continuity::Kept => {}
            Continuity::Unknown => {
                info!(self.log, "Redis has another replication history: it was restarted, or \
                    another was promoted"; "history" => facts.history);
            }
            Continuity::Behind => {
                // The numbers would report the same loss again.
                *self.seen.lock() = None;
                self.times.inc();
                error!(self.log, "request counts lost in Redis";
                    "why" => "the primary was replaced or restarted without the last writes",
                    "effect" => "windows, strikes and bans continue from an earlier state");
            }
        }
    }

    /// Compares the answers with what was seen when their batch was sent: two batches may
    /// be under way, and each loss is reported once.
    pub fn compare(&self, before: Option<Progress>, answers: &Answers) {
        let mut seen = self.seen.lock();
        let found = Progress { epoch: answers.epoch, batch: answers.batch };
        let Some((current, before)) = seen.zip(before) else {
            seen.get_or_insert(found);
            return;
        };
        if current.epoch != before.epoch || current.batch < before.batch {
            return;
        }
        let is_continued = found.epoch == before.epoch && found.batch > before.batch;
        let is_ahead = found.epoch == current.epoch && found.batch <= current.batch;
        if !(is_continued && is_ahead) {
            *seen = Some(found);
        }
        if !is_continued {
            self.times.inc();
            error!(self.log, "request counts lost in Redis"; "batch" => found.batch,
                "expected_after" => before.batch, "emptied" => found.epoch != before.epoch,
                "effect" => "windows, strikes and bans began anew, or from an earlier state");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn answers(epoch: u8, batch: u64) -> Answers {
        Answers { now: Duration::ZERO, epoch: [epoch; 8], batch, decisions: Vec::new() }
    }

    fn watch() -> LostCounts {
        LostCounts::new(Logger::root(slog::Discard, slog::o!()))
    }

    #[test]
    fn batches_in_sequence_lose_nothing() {
        let counts = watch();
        for batch in [5, 6, 9, 1_000] {
            counts.compare(counts.seen(), &answers(1, batch));
        }
        // Two under way, whose answers are looked at in the other order.
        let before = counts.seen();
        counts.compare(before, &answers(1, 1_002));
        counts.compare(before, &answers(1, 1_001));
        counts.compare(counts.seen(), &answers(1, 1_003));
        assert_eq!(counts.times().get(), 0);
    }

    #[test]
    fn a_primary_without_the_last_writes_is_noticed_once() {
        let facts = |history: &str, offset: u64, before: &str, begins: i64| {
            ServerFacts::read(&format!(
                "master_replid:{history}\nmaster_repl_offset:{offset}\n\
                 master_replid2:{before}\nsecond_repl_offset:{begins}\n"
            ))
        };
        let counts = watch();
        counts.compare(None, &answers(1, 1_000));
        counts.compare_histories(facts("a", 5_000, "0", -1));
        counts.compare_histories(facts("a", 6_000, "0", -1));
        counts.compare_histories(facts("b", 6_100, "a", 5_900));
        counts.compare(counts.seen(), &answers(1, 990));
        counts.compare_histories(facts("b", 6_200, "a", 5_900));
        assert_eq!(counts.times().get(), 1);
        // A restart: nothing is known to be lost.
        counts.compare_histories(facts("c", 0, "0", -1));
        counts.compare(counts.seen(), &answers(1, 991));
        assert_eq!(counts.times().get(), 1);
    }

    #[test]
    fn another_epoch_and_an_earlier_state_are_noticed_once() {
        for found in [answers(2, 1), answers(2, 9_000), answers(1, 3), answers(1, 1_000)] {
            let counts = watch();
            counts.compare(None, &answers(1, 1_000));
            let before = counts.seen();
            counts.compare(before, &found);
            let next = Answers { batch: found.batch + 1, ..found };
            counts.compare(before, &next);
            counts.compare(counts.seen(), &Answers { batch: next.batch + 1, ..next });
            assert_eq!(counts.times().get(), 1, "epoch {:?}, batch {}", next.epoch, next.batch);
        }
    }
}
