//! What the requests share with the task that has the connection.

use super::admission::AdmissionScript;
use super::local_counts::LocalCounts;
use super::lost_counts::LostCounts;
use super::outage::Outage;
use super::start_warnings::StartWarnings;
use super::timeliness::Timeliness;
use crate::clock::Now;
use crate::config::{LimitsLost, RedisUrl};
use crate::limits::{Decision, KeyedRequest, log_ban};
use prometheus_client::metrics::counter::Counter;
use slog::{Logger, warn};
use std::time::Duration;

/// How long a request waits to be counted. What is left of
/// [`ANSWER_LIMIT`](super::ANSWER_LIMIT) is for the timer, which is exact to a millisecond, and
/// for the answer.
pub const WAIT_LIMIT: Duration = Duration::from_millis(240);

/// The counts, and whether Redis can be asked.
#[derive(Debug)]
pub struct Shared {
    /// Where Redis is looked for.
    pub url: RedisUrl,
    /// What is sent.
    pub script: AdmissionScript,
    /// What the answers are compared with.
    pub counts: LostCounts,
    /// What was warned of.
    pub warnings: StartWarnings,
    /// Whether Redis is lost.
    pub outage: Outage,
    /// Whether it answers in time.
    pub timeliness: Timeliness,
    /// Bans that have begun.
    pub bans: Counter,
    /// `None` if requests are refused while Redis is lost.
    pub local: Option<LocalCounts>,
    /// Where that is said.
    pub log: Logger,
}

impl Shared {
    /// Nothing counted yet, for the store with this id.
    pub fn new(url: RedisUrl, lost: LimitsLost, store_id: &str, log: Logger) -> Shared {
        Shared {
            url,
            script: AdmissionScript::new(store_id),
            counts: LostCounts::new(log.clone()),
            warnings: StartWarnings::default(),
            outage: Outage::default(),
            timeliness: Timeliness::default(),
            bans: Counter::default(),
            local: (lost == LimitsLost::Local).then(LocalCounts::default),
            log,
        }
    }

    /// Counts, logs and notes a ban where the verdict arrives: the request may have been given
    /// up, or have waited too long.
    pub fn note_ban(
        &self,
        request: &KeyedRequest,
        key_id: Option<&str>,
        now: Now,
        decision: Decision,
    ) {
        if let Some(local) = &self.local {
            local.note(*request, decision, now);
        }
        if let Decision::Banned { status, begins: true } = decision {
            self.bans.inc();
            log_ban(&self.log, request, key_id, status, now);
        }
    }

    /// From now on no request waits for Redis.
    pub fn begin_outage(&self, why: String) {
        let effect = match &self.local {
            None => "requests are refused",
            Some(_) => "this server counts alone",
        };
        warn!(self.log, "request counts unavailable"; "redis" => %self.url, "error" => &why,
            "effect" => effect);
        self.outage.begin(why);
    }
}
