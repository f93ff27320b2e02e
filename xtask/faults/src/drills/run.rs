//! One run: everything is started, clients work, faults come and go, and what the clients saw
//! is judged.

use super::faults::{Draw, FaultKind};
use super::operator::{Operator, VALID_KEYS};
use super::server::{GIVEN_UP_AFTER, Server};
use super::site::{Damage, Site};
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

/// How many orders there are at first.
const ORDERS: usize = 400;

/// How long everything works before the first fault, and after the last one.
const WORKS: Duration = Duration::from_secs(2);

/// How long lists may differ, or a server refuse, before the run goes on.
const COMPARED_FOR: Duration = Duration::from_secs(8);

/// An order that there is not: to cancel it is a transaction all the same.
const NO_ORDER: usize = 0;

/// How long the connections of sessions that ended may be seen at the primary.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// How often each server is asked whether it is ready.
const PROBE_INTERVAL: Duration = Duration::from_millis(10);

/// How soon a server on its embedded store serves again, all kinds of requests.
const EMBEDDED_SERVES_WITHIN: Duration = Duration::from_secs(2);

/// What is run.
#[derive(Clone)]
pub struct Plan {
    /// What servers run on.
    pub topology: Topology,
    /// Where the random choices begin.
    pub seed: u64,
    /// For how long faults are drawn.
    pub lasts: Duration,
    /// This fault alone.
    pub only: Option<FaultKind>,
    /// What a control damages.
    pub damage: Damage,
    /// It ends when this is found.
    pub until: Option<Rule>,
    /// The command that runs it again.
    pub repeat: String,
}

/// Runs it; the report says what was found.
pub async fn drill(tools: &Tools, plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    run(tools, &plan, report).await.map(drop)
}

/// Runs it, and returns what was found.
pub async fn run(
    tools: &Tools,
    plan: &Plan,
    report: &mut Report,
) -> anyhow::Result<Vec<Violation>> {
    let mut site = Site::start(tools, plan.topology, ORDERS, plan.damage).await?;
    let journal = Journal::new(Some(File::create(site.root().join("history.jsonl"))?));
    let mut result = record(&mut site, plan, &journal, report).await;
    let is_control = plan.until.is_some();
    if result.is_ok() && !is_control {
        result = expect_order(&site, report).await;
    }
    let violations = journal.judge(report);
    result = result.and(journal.close());
    if violations.is_empty() && result.is_ok() {
        expect_kinds(&site, plan, report);
    }
    if (!is_control && !report.holds()) || result.is_err() {
        site.keep();
        let at = site.root();
        report.figure(format!("history.jsonl, logs and data are kept in {}", at.display()));
        report.figure(format!("to run it again: {}", plan.repeat));
    }
    result.map(|()| violations)
}

/// Each kind of fault that its time is enough for was there.
fn expect_kinds(site: &Site, plan: &Plan, report: &mut Report) {
    let never = |kinds: BTreeSet<FaultKind>| -> Vec<String> {
        kinds.difference(&site.injected).map(|kind| kind.name()).collect()
    };
    let possible: BTreeSet<FaultKind> = FaultKind::kinds_on(plan.topology).collect();
    let (there, of) = (site.injected.len(), possible.len());
    let never_there = never(possible);
    let named = if never_there.is_empty() { "" } else { "; never: " };
    report.figure(format!("{there} of {of} kinds of fault{named}{}", never_there.join(", ")));
    if !site.dropped.is_empty() {
        report.figure(format!("bytes not synced that power cuts dropped: {:?}", site.dropped));
    }
    let due = Draw::new(plan.topology, plan.seed, plan.only).kinds_in(plan.lasts);
    let missed = never(due);
    report.expect_unless_stalled(missed.is_empty(), || format!("these never came: {missed:?}"));
}

/// The store is sound, and each server has its connections to the primary and none of sessions
/// that ended.
async fn expect_order(site: &Site, report: &mut Report) -> anyhow::Result<()> {
    // Exits with an error if it finds anything.
    let checked = block_in_place(|| site.operator.run(&["check"]));
    if let Err(error) = checked {
        report.expect(false, || format!("{error:#}"));
    }
    if site.topology == Topology::Embedded {
        return Ok(());
    }
    let (primary, servers) = (site.databases()?.primary()?, site.servers.len());
    if let Some(found) = wrong_connections(primary, servers, CLOSED_WITHIN).await? {
        let text = format!("servers keep connections of ended sessions: {found:?}");
        report.expect_unless_stalled(false, || text);
    }
    Ok(())
}

/// Everything but the judgement.
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
    let failed = fail(site, plan, &workload, report).await;
    traffic.stop().await?;
    for commands in [operator, killed] {
        commands.await.context("the operator panicked")??;
    }
    failed?;
    block_in_place(|| journal.end(&site.operator))
}

/// Faults, one after the other, until the time is over or something is found. On a slow machine, the
/// draws that the time is enough for may take up to twice as long.
async fn fail(
    site: &mut Site,
    plan: &Plan,
    workload: &Workload,
    report: &mut Report,
) -> anyhow::Result<()> {
    let journal = &workload.journal;
    sleep(WORKS).await;
    let began = Instant::now();
    let due = Draw::count_in(plan.lasts);
    for (done, drawn) in Draw::new(plan.topology, plan.seed, plan.only).enumerate() {
        let is_found = match plan.until {
            // A control's rule may be about what is left when everything is over.
            None | Some(Rule::CancellationLost) => journal.is_violated(),
            Some(rule) => journal.violations().iter().any(|found| found.rule == rule),
        };
        let time = if done < due { 2 * plan.lasts } else { plan.lasts };
        if began.elapsed() > time || is_found {
            break;
        }
        workload.pool.set_rests(if drawn.is_calm { CALM } else { 1 });
        sleep(drawn.after).await;
        drawn.inject(site, workload).await?;
        let recovered = recover(&site.servers, workload);
        let served_after = match (drawn.promotes(), &mut site.databases) {
            (true, Some(databases)) => {
                // The primary that was replaced may go on meanwhile.
                let (served_after, given) = tokio::join!(recovered, databases.give_standby());
                given?;
                databases.kill(databases.third_number())?;
                served_after
            }
            _ => recovered.await,
        };
        if plan.topology == Topology::Embedded {
            let what = format!("service after {}", drawn.name());
            report.time(what, served_after, EMBEDDED_SERVES_WITHIN);
        }
    }
    sleep(WORKS).await;
    Ok(())
}

/// Waits until all servers are ready and serve and their lists agree, and notes when that is.
/// Returns how long it was until they served: to compare lists is to wait for every client's last
/// request, and one begun on a connection that is reset may hang until it is given up.
async fn recover(servers: &[Server], workload: &Workload) -> Duration {
    let (journal, ready) = (&workload.journal, RefCell::new(BTreeSet::new()));
    let undone = Instant::now();
    let probes = servers.iter().map(|server| probe(server, journal, &ready));
    let agreement = async {
        let are_ready = async || (ready.borrow().len() == servers.len()).then_some(());
        // What was not in time is found by the rules.
        let _ = wait_for("servers are ready", GIVEN_UP_AFTER, are_ready).await;
        expect_service(servers, workload).await;
        let served_after = undone.elapsed();
        compare(servers, workload).await;
        served_after
    };
    tokio::select! {
        // Probes end with the rest.
        _ = join_all(probes) => undone.elapsed(),
        served_after = agreement => served_after,
    }
}

/// Has each server carry out each kind of request.
async fn expect_service(servers: &[Server], workload: &Workload) {
    let began = Instant::now();
    for number in 0..servers.len() {
        for request in [Request::List, Request::Cancel(NO_ORDER), Request::Pet] {
            let is_served = async || {
                let asked = workload.send("prober", number, &workload.key, request.clone());
                match asked.await {
                    Answer::Lost(_) => None,
                    Answer::Status(one) if one.status == 503 => None,
                    _ => Some(()),
                }
            };
            let left = COMPARED_FOR.saturating_sub(began.elapsed());
            let _ = wait_for("it is served", left, is_served).await;
        }
    }
}

/// Notes whenever a server becomes ready: one whose primary was replaced may be ready until it
/// notices, and then again.
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

/// Compares the lists of all servers while no client changes an order, until they agree.
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
    let _ = wait_for("lists agree", COMPARED_FOR, agree).await;
}

fn digest(list: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    list.hash(&mut hasher);
    format!("{:016x}, {} bytes", hasher.finish(), list.len())
}

/// Keys of accounts with a limit, and then of one without: the first is the clients', the
/// others are revoked.
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
