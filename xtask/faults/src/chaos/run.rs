//! One chaos run: starts everything, runs clients, injects faults, and checks the recorded history.

use super::faults::{FaultKind, FaultSchedule};
use super::operator::{Operator, VALID_KEYS};
use super::server::{READY_TIMEOUT, Server};
use super::site::{SeededDefects, Site};
use super::topology::Topology;
use crate::replicas::wrong_connections;
use crate::scenario::Tools;
use anyhow::Context;
use futures::future::join_all;
use history::event::{Answer, Request, What};
use history::workload::{CALM, LIMITS, Workload};
use history::{ACCOUNT, Clients, Journal, Rule, Violation};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, wait_for};
use tokio::task::block_in_place;
use tokio::time::sleep;

const ORDERS: usize = 400;

/// The time without faults at the start of a run, and again at the end.
const FAULT_FREE_TIME: Duration = Duration::from_secs(2);

/// The timeout of each of two waits after a fault: until the servers execute requests, and until
/// their lists agree. A timeout does not end the run, because the check of the recorded history
/// reports the delay.
const AGREEMENT_TIMEOUT: Duration = Duration::from_secs(8);

/// The id of an order that does not exist. Its cancellation commits a transaction, so the response
/// shows whether the server can execute cancellations.
const UNKNOWN_ORDER: usize = 0;

/// The maximum time from the end of a run until the primary has no connections of ended sessions.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

const PROBE_INTERVAL: Duration = Duration::from_millis(10);

/// The maximum time from the end of a fault until a server with an embedded store has executed
/// requests of every kind.
const EMBEDDED_SERVES_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Plan {
    pub topology: Topology,
    pub seed: u64,
    /// The time for which faults are injected. A slow machine gets up to twice this time, so that
    /// it can inject as many groups of faults as a fast one.
    pub duration: Duration,
    pub only_kind: Option<FaultKind>,
    /// The seeded defects of a negative control. Other runs have none.
    pub seeded_defects: SeededDefects,
    /// The rule that a negative control must break; `None` in other runs.
    pub expected_rule: Option<Rule>,
    /// The command that repeats the run. It is printed if the run fails.
    pub repeat_command: String,
}

/// Performs a chaos run and returns its violations. Keeps the run's files on failure. A negative
/// control may have violations.
pub async fn run(
    tools: &Tools,
    plan: &Plan,
    report: &mut Report,
) -> anyhow::Result<Vec<Violation>> {
    let mut site = Site::start(tools, plan.topology, ORDERS, plan.seeded_defects).await?;
    let journal = Journal::new(Some(File::create(site.root().join("history.jsonl"))?));
    let mut result = record(&mut site, plan, &journal, report).await;
    let is_negative_control = plan.expected_rule.is_some();
    if result.is_ok() && !is_negative_control {
        result = expect_clean_end(&site, report).await;
    }
    let violations = journal.report_violations(report);
    result = result.and(journal.close());
    if violations.is_empty() && result.is_ok() {
        expect_kinds(&site, plan, report);
    }
    if (!is_negative_control && !report.holds()) || result.is_err() {
        site.keep();
        let directory = site.root();
        report.figure(format!("history.jsonl, logs and data are kept in {}", directory.display()));
        report.figure(format!("to run it again: {}", plan.repeat_command));
    }
    result.map(|()| violations)
}

/// The run fails if a scheduled kind of fault had no effect. Also reports all kinds without an
/// effect.
fn expect_kinds(site: &Site, plan: &Plan, report: &mut Report) {
    let without_injected = |kinds: BTreeSet<FaultKind>| -> Vec<String> {
        kinds.difference(&site.injected).map(|kind| kind.name()).collect()
    };
    let possible: BTreeSet<FaultKind> = FaultKind::kinds_on(plan.topology).collect();
    let (injected, total) = (site.injected.len(), possible.len());
    let never_injected = without_injected(possible);
    let named = if never_injected.is_empty() { "" } else { "; never: " };
    report.figure(format!(
        "{injected} of {total} kinds of fault{named}{}",
        never_injected.join(", ")
    ));
    if !site.dropped.is_empty() {
        report.figure(format!("bytes not synced that power cuts dropped: {:?}", site.dropped));
    }
    let due = FaultSchedule::new(plan.topology, plan.seed, plan.only_kind).kinds_in(plan.duration);
    let missed = without_injected(due);
    report.expect_unless_stalled(missed.is_empty(), || {
        format!("kinds of fault that never occurred: {missed:?}")
    });
}

/// Runs the command `check` on the store. With PostgreSQL, also checks that the primary has no
/// connections of ended sessions.
async fn expect_clean_end(site: &Site, report: &mut Report) -> anyhow::Result<()> {
    // `check` exits with an error if it finds a problem.
    let check_result = block_in_place(|| site.operator.run(&["check"]));
    if let Err(error) = check_result {
        report.expect(false, || format!("{error:#}"));
    }
    if site.topology == Topology::Embedded {
        return Ok(());
    }
    let (primary, servers) = (site.databases()?.primary()?, site.servers.len());
    if let Some(connections) = wrong_connections(primary, servers, CLOSE_TIMEOUT).await? {
        let text = format!("servers keep connections of ended sessions: {connections:?}");
        report.expect_unless_stalled(false, || text);
    }
    Ok(())
}

/// Injects the faults while the clients and the operator work. `journal` records the faults,
/// requests and commands.
async fn record(
    site: &mut Site,
    plan: &Plan,
    journal: &Arc<Journal>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let keys = block_in_place(|| issue_keys(&site.operator))?;
    site.start_servers().await?;
    let (limited, called) = keys.split_at(LIMITS.len().min(keys.len()));
    let [key, called @ ..] = called else { anyhow::bail!("no keys") };
    let servers = site.servers.iter();
    let names = servers.clone().map(|server| server.name.to_string()).collect();
    let mut clients = Clients::new(Vec::new(), key, ORDERS);
    clients.servers = servers.map(|server| (server.name.to_string(), server.base_url())).collect();
    clients.beginning.servers = names;
    (clients.limited, clients.called) = (limited.to_vec(), called.to_vec());
    clients.seed = plan.seed;
    let traffic = clients.start(Arc::clone(journal))?;
    let workload = Arc::clone(&traffic.workload);
    let operator =
        || Operator::new(Arc::clone(&workload), Arc::clone(&site.operator), ORDERS, plan.seed);
    let killed = tokio::spawn(operator().kill_import());
    let operator = tokio::spawn(operator().work());
    let failed = inject_faults(site, plan, &workload, report).await;
    traffic.stop().await?;
    for commands in [operator, killed] {
        commands.await.context("the operator panicked")??;
    }
    failed?;
    block_in_place(|| journal.end(&site.operator))
}

/// Injects groups of faults for `plan.duration`, or until a violation is found. A slow machine gets
/// up to twice `plan.duration` to inject [`FaultSchedule::count_in`] groups.
async fn inject_faults(
    site: &mut Site,
    plan: &Plan,
    workload: &Workload,
    report: &mut Report,
) -> anyhow::Result<()> {
    let journal = &workload.journal;
    sleep(FAULT_FREE_TIME).await;
    let began = Instant::now();
    let due = FaultSchedule::count_in(plan.duration);
    for (done, group) in FaultSchedule::new(plan.topology, plan.seed, plan.only_kind).enumerate() {
        let is_found = match plan.expected_rule {
            // Only the check after all faults finds a lost cancellation. So the negative control
            // for `CancellationLost` stops at any violation.
            None | Some(Rule::CancellationLost) => journal.is_violated(),
            Some(rule) => journal.violations().iter().any(|violation| violation.rule == rule),
        };
        let time = if done < due { 2 * plan.duration } else { plan.duration };
        if began.elapsed() > time || is_found {
            break;
        }
        workload.pool.set_rests(if group.is_calm { CALM } else { 1 });
        sleep(group.after).await;
        group.inject(site, workload).await?;
        let recovered = recover(&site.servers, workload);
        let served_after = match (group.promotes(), &mut site.databases) {
            (true, Some(databases)) => {
                // After the recovery, kill the replaced primary, because it may still run.
                let (served_after, standby_added) =
                    tokio::join!(recovered, databases.add_standby());
                standby_added?;
                databases.kill(databases.third_number())?;
                served_after
            }
            _ => recovered.await,
        };
        if plan.topology == Topology::Embedded {
            let what = format!("service after {}", group.name());
            report.time(what, served_after, EMBEDDED_SERVES_WITHIN);
        }
    }
    sleep(FAULT_FREE_TIME).await;
    Ok(())
}

/// Waits until all servers are ready. Then waits until they execute requests (see
/// [`expect_service`]), and then until they list the same orders. If a wait reaches its time limit,
/// the next wait begins.
///
/// Returns the time from the call until the end of [`expect_service`].
async fn recover(servers: &[Server], workload: &Workload) -> Duration {
    let (journal, ready) = (&workload.journal, RefCell::new(BTreeSet::new()));
    let undone = Instant::now();
    let probes = servers.iter().map(|server| probe(server, journal, &ready));
    let agreement = async {
        let are_ready = async || (ready.borrow().len() == servers.len()).then_some(());
        // Ignore the result, because the checker of the recording reports servers that are not
        // ready in time.
        let _ = wait_for("servers are ready", READY_TIMEOUT, are_ready).await;
        expect_service(servers, workload).await;
        let served_after = undone.elapsed();
        compare(servers, workload).await;
        served_after
    };
    tokio::select! {
        // The probes never end by themselves, so this branch is never taken.
        _ = join_all(probes) => undone.elapsed(),
        served_after = agreement => served_after,
    }
}

/// Waits until each server has replied to a list request, a cancellation and a request for a pet,
/// each with a status other than 503. Gives up after [`AGREEMENT_TIMEOUT`].
async fn expect_service(servers: &[Server], workload: &Workload) {
    let began = Instant::now();
    for number in 0..servers.len() {
        for request in [Request::List, Request::Cancel(UNKNOWN_ORDER), Request::Pet] {
            let is_served = async || {
                let answer = workload.send("prober", number, &workload.key, request.clone());
                match answer.await {
                    Answer::Lost(_) => None,
                    Answer::Status(one) if one.status == 503 => None,
                    _ => Some(()),
                }
            };
            let remaining = AGREEMENT_TIMEOUT.saturating_sub(began.elapsed());
            let _ = wait_for("the server answers", remaining, is_served).await;
        }
    }
}

/// Polls the server's readiness. Records in the history each time at which the server becomes
/// ready. After a promotion, a record may come too early, because the server has not yet detected
/// that its primary was replaced.
async fn probe(
    server: &Server,
    journal: &Journal,
    ready: &RefCell<BTreeSet<&'static str>>,
) -> Infallible {
    loop {
        if !server.is_ready().await {
            ready.borrow_mut().remove(server.name);
        } else if ready.borrow_mut().insert(server.name) {
            journal.note(What::Ready { server: server.name.to_string() });
        }
        sleep(PROBE_INTERVAL).await;
    }
}

/// Compares the lists of all servers until they agree or [`AGREEMENT_TIMEOUT`] has passed. During
/// the comparison, no client changes orders.
async fn compare(servers: &[Server], workload: &Workload) {
    let journal = &workload.journal;
    let _resting = workload.pool.rest().await;
    let agree = async || {
        let mut digests = BTreeMap::new();
        for server in servers {
            if let Some(list) = server.list(&workload.key).await {
                digests.insert(server.name.to_string(), digest(&list));
            }
        }
        let first = digests.values().next();
        let is_equal =
            digests.len() == servers.len() && digests.values().all(|digest| Some(digest) == first);
        journal.note(What::Compared { digests });
        is_equal.then_some(())
    };
    let _ = wait_for("lists agree", AGREEMENT_TIMEOUT, agree).await;
}

fn digest(list: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    list.hash(&mut hasher);
    format!("{:016x}, {} bytes", hasher.finish(), list.len())
}

/// Returns a key for each account with a reachable limit, then the clients' main key. The remaining
/// keys belong to the main key's account, and may be revoked during the run.
fn issue_keys(operator: &DataDir) -> anyhow::Result<Vec<Key>> {
    let mut keys = Vec::new();
    for (number, (per_minute, per_day)) in LIMITS.into_iter().enumerate() {
        let account = format!("limited-{number}");
        keys.push(operator.issue_enterprise_key(&account, per_minute, per_day)?);
    }
    keys.push(operator.issue_enterprise_key(ACCOUNT, u32::MAX, u32::MAX)?);
    for _ in 0..VALID_KEYS {
        keys.push(operator.issue_another_key(ACCOUNT)?);
    }
    Ok(keys)
}
