//! Takes random steps with the in-memory limiter and with a simple model. Both must make the same
//! decisions and return the same numbers for the headers.

use super::model::{Kind, Model, Outcome, Time};
use proptest::prelude::*;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::{Clock, ManualClock};
use store_orders::rate_limiter::{
    CountsFile, Decision, InMemoryRateLimiter, KeyBan, KeyedRequest, NewBan, RateLimiter, Window,
};
use store_orders_api::plans::{Plan, PlanLimits};
use tempfile::TempDir;
use test_server::NOON;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const ADDRESSES: [&str; 5] =
    ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"];

/// The names under which requests from `ADDRESSES` are counted: the IPv4 address, or the /64
/// network of an IPv6 address.
const COUNTED_AS: [&str; 5] =
    ["192.0.2.1", "192.0.2.1", "2001:db8::", "2001:db8::", "2001:db8:0:1::"];

const UNAUTHENTICATED_PER_MINUTE: u32 = 7;

/// The interval at which the limiter removes expired entries. It equals the constant in
/// `rate_limiter/persistence.rs`.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
enum Step {
    Requests {
        account: i64,
        key: i64,
        times: u32,
    },
    Unauthenticated {
        address: usize,
        times: u32,
    },
    Plan {
        account: i64,
        limits: PlanLimits,
    },
    Unban(i64),
    Advance(Duration),
    /// Advances the time to the reset that the last decision announced, plus these nanoseconds. The
    /// number of nanoseconds may be negative.
    AdvanceToReset(i64),
    /// Moves only the wall clock, by these seconds.
    SetWall(i64),
    Record,
    /// A clean restart. The first value is the time from the last write of the counts to the
    /// restart. The second value is a jump of the wall clock in seconds, which may be negative. The
    /// wall clock moves by both.
    Restart(Duration, i64),
    /// A crash, and a restart this many nanoseconds later. The crash loses the counts since the
    /// last write of the counts file.
    Crash(u32),
}

fn any_limits() -> impl Strategy<Value = PlanLimits> {
    let custom = (
        prop::sample::select(vec![0, 1, 2, 3, 5, 8, 60]),
        prop::sample::select(vec![0, 1, 4, 9, 30, 1_000]),
    )
        .prop_map(|(per_minute, per_day)| PlanLimits { per_minute, per_day });
    prop_oneof![6 => custom, 1 => Just(Plan::Free.limits().unwrap())]
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::from_nanos(1)),
        Just(Duration::from_millis(1)),
        Just(Duration::new(1, 999_999_999)),
        Just(Duration::from_secs(2)),
        Just(Duration::new(59, 999_999_999)),
        (0_u64..70_000_000_000).prop_map(Duration::from_nanos),
        (0_u64..4_000).prop_map(Duration::from_secs),
        (0_u64..100_000).prop_map(Duration::from_secs),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let years = 10 * 365 * 86_400_i64;
    prop_oneof![
        12 => (0..3_i64, 0..3_i64, 1..12_u32)
            .prop_map(|(account, key, times)| Step::Requests { account, key: account * 10 + key, times }),
        2 => (0..ADDRESSES.len(), 1..5_u32)
            .prop_map(|(address, times)| Step::Unauthenticated { address, times }),
        2 => (0..3_i64, any_limits()).prop_map(|(account, limits)| Step::Plan { account, limits }),
        1 => (0..3_i64, 0..3_i64).prop_map(|(account, key)| Step::Unban(account * 10 + key)),
        4 => any_duration().prop_map(Step::Advance),
        4 => prop::sample::select(vec![-1_000_000, -1, 0, 1, 1_000_000]).prop_map(Step::AdvanceToReset),
        2 => prop_oneof![-years..years, -100..100_i64].prop_map(Step::SetWall),
        1 => Just(Step::Record),
        2 => (any_duration(), prop_oneof![Just(0), -100..100_i64, -200_000..200_000_i64, -years..years]).prop_map(|(down, set)| Step::Restart(down, set)),
        1 => any::<u32>().prop_map(Step::Crash),
    ]
}

/// The limiter and the model, with the clock and the stored bans that both use.
struct Both {
    directory: TempDir,
    clock: Arc<ManualClock>,
    limits: Arc<InMemoryRateLimiter>,
    record: CountsFile,
    model: Model,
    /// The model as it was when the counts file was last written, without the windows that had
    /// closed by then.
    recorded: Model,
    begun: UnboundedReceiver<NewBan>,
    /// The bans that are in the store, by key. They survive a crash.
    rows: HashMap<i64, KeyBan>,
    next_cleanup: Duration,
    plans: [PlanLimits; 3],
    last_reset: Duration,
}

impl Both {
    fn new(plans: [PlanLimits; 3]) -> Both {
        // Use a directory in memory if possible, because thousands of syncs to a disk would slow
        // the test down.
        let memory = Some(Path::new("/dev/shm")).filter(|directory| directory.is_dir());
        let parent = memory.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let directory = tempfile::tempdir_in(parent).unwrap();
        let clock = Arc::new(ManualClock::new(NOON + Duration::from_nanos(123_456_789)));
        let (limits, mut record, begun) = Both::start_process(&directory, &clock);
        record.write();
        let model = Model::default();
        let recorded = model.clone();
        Both {
            directory,
            clock,
            limits,
            record,
            model,
            recorded,
            begun,
            rows: HashMap::new(),
            next_cleanup: CLEANUP_INTERVAL,
            plans,
            last_reset: Duration::ZERO,
        }
    }

    fn start_process(
        directory: &TempDir,
        clock: &Arc<ManualClock>,
    ) -> (Arc<InMemoryRateLimiter>, CountsFile, UnboundedReceiver<NewBan>) {
        let log = slog::Logger::root(slog::Discard, slog::o!());
        let limits = Arc::new(InMemoryRateLimiter::new(UNAUTHENTICATED_PER_MINUTE, log.clone()));
        let record =
            CountsFile::open(directory.path(), "1".to_string(), limits.clone(), clock.clone(), log);
        let (sender, begun) = unbounded_channel();
        limits.bans().send_to(Some(sender));
        (limits, record, begun)
    }

    fn wall(&self) -> Time {
        self.clock.now().wall.as_nanos() as Time
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Requests { account, key, times } => {
                (0..times).for_each(|_| self.request(account, key))
            }
            Step::Unauthenticated { address, times } => {
                (0..times).for_each(|_| self.request_unauthenticated(address))
            }
            Step::Plan { account, limits } => self.plans[account as usize] = limits,
            Step::Unban(key) => {
                let number = self.rows.get(&key).map_or(0, |ban| ban.number) + 1;
                self.rows.insert(key, KeyBan { number, ..KeyBan::default() });
                self.model.unban(key);
            }
            Step::Advance(by) => self.advance(by),
            Step::AdvanceToReset(offset) => {
                let reset = self.last_reset.as_nanos() as i64;
                self.advance(Duration::from_nanos(reset.saturating_add(offset).max(0) as u64));
            }
            Step::SetWall(by) => self.move_wall(by.saturating_mul(1_000_000_000)),
            Step::Record => self.write(),
            Step::Restart(down, by) => {
                self.write();
                self.advance(down);
                self.move_wall(by.saturating_mul(1_000_000_000));
                self.restart();
            }
            Step::Crash(down) => {
                self.advance(Duration::from_nanos(down.into()));
                self.restart();
            }
        }
    }

    fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.model.advance(by.as_nanos() as Time);
        self.last_reset = self.last_reset.saturating_sub(by);
    }

    fn move_wall(&self, by: i64) {
        let wall = self.clock.now().wall.as_nanos() as i64;
        self.clock.set_wall(Duration::from_nanos((wall + by).max(0) as u64));
    }

    fn write(&mut self) {
        let file = || self.directory.path().join("limits.snapshot").metadata().unwrap().ino();
        let before = file();
        self.record.write();
        // `CountsFile` replaces the file, and so the inode, only if a window has changed.
        let is_written = file() != before;
        let now = self.clock.now().monotonic;
        if now >= self.next_cleanup {
            self.next_cleanup = now + CLEANUP_INTERVAL;
            self.model.clean_up(self.wall());
        }
        if is_written {
            self.recorded = self.model.without_closed_windows(self.wall());
        }
    }

    /// Starts a new process, which has only the counts in the file and the bans in the store.
    fn restart(&mut self) {
        let before = std::mem::replace(&mut self.model, self.recorded.clone());
        self.model.restart(&before, self.wall());
        self.clock = Arc::new(self.clock.restarted());
        (self.limits, self.record, self.begun) = Both::start_process(&self.directory, &self.clock);
        self.next_cleanup = CLEANUP_INTERVAL;
        self.write();
    }

    fn request(&mut self, account: i64, key: i64) {
        let (now, limits) = (self.clock.now(), self.plans[account as usize]);
        let ban = self.rows.get(&key).copied().unwrap_or_default();
        let request = KeyedRequest { account, key, limits, ban };
        let key_id = Arc::from("key_1");
        let admit = self.limits.admit(request, &key_id, now, Instant::now());
        let decision = futures::executor::block_on(admit);
        while let Ok(NewBan { key, ban }) = self.begun.try_recv() {
            let before = self.rows.insert(key, ban).unwrap_or_default();
            assert_eq!(before.number + 1, ban.number);
        }
        self.last_reset = decision.status().resets_in;
        let expected = self.model.request(account, key, limits, self.wall());
        assert_eq!(self.outcome(decision), expected, "account {account}, key {key}, {limits:?}");
    }

    fn request_unauthenticated(&mut self, address: usize) {
        let now = self.clock.now();
        let ip = ADDRESSES[address].parse().unwrap();
        let decision = futures::executor::block_on(self.limits.admit_unauthenticated(ip, now));
        self.last_reset = decision.status().resets_in;
        let expected = self.model.request_unauthenticated(
            COUNTED_AS[address],
            UNAUTHENTICATED_PER_MINUTE,
            self.wall(),
        );
        assert_eq!(self.outcome(decision), expected, "{ip}");
    }

    fn outcome(&self, decision: Decision) -> Outcome {
        let figures = decision.status();
        Outcome {
            kind: match decision {
                Decision::Admitted(_) => Kind::Admitted,
                Decision::Limited(_, Window::Minute) => Kind::LimitedByMinute,
                Decision::Limited(_, Window::Day) => Kind::LimitedByDay,
                Decision::Banned { .. } => Kind::Banned,
                Decision::Unavailable(_) => unreachable!("counted in memory"),
            },
            limit: figures.limit,
            remaining: figures.remaining,
            reset_at: figures.reset_at(self.clock.now()),
            retry_after: figures.retry_after(),
        }
    }
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn the_limiter_and_the_model_agree(
        plans in prop::array::uniform3(any_limits()),
        steps in prop::collection::vec(any_step(), 1..120),
    ) {
        let mut both = Both::new(plans);
        for step in &steps {
            both.apply(step);
        }
    }
}
