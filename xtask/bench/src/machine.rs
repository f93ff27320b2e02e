//! Describes the machine, runs servers and the load generator on different cores, and measures
//! processor time.

use procfs::process::Process;
use procfs::{CpuInfo, Current, CurrentSI, KernelStats};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use testbed::ServerProcess;

/// Index into [`CORES`] of the core that runs servers, databases and all baselines except pgbench.
const SERVED_CORE: usize = 0;
/// Index into [`CORES`] of the core that runs the load generator and pgbench.
const GENERATOR_CORE: usize = 1;

/// How long [`busy_by_others`] watches the idle time of all cores.
const MEASURE_TIME: Duration = Duration::from_millis(400);

/// The cores that this process could run on before any thread was pinned.
static CORES: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
});

pub fn description() -> anyhow::Result<String> {
    let (info, kernel) = (CpuInfo::current()?, rustix::system::uname());
    Ok(format!(
        "{}, {} cores, {} {}",
        info.model_name(0).unwrap_or("unknown processor"),
        CORES.len(),
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
    ))
}

/// Returns the number of cores that other programs keep busy. The benchmark must be idle during the
/// call, because its own work would be counted too.
pub fn busy_by_others() -> anyhow::Result<f64> {
    let idle_ms =
        |stats: &KernelStats| stats.total.idle_ms() + stats.total.iowait_ms().unwrap_or(0);
    let (began, before) = (Instant::now(), KernelStats::current()?);
    std::thread::sleep(MEASURE_TIME);
    let (after, watched_ms) = (KernelStats::current()?, began.elapsed().as_secs_f64() * 1e3);
    let idle_cores = idle_ms(&after).saturating_sub(idle_ms(&before)) as f64 / watched_ms;
    Ok((after.cpu_time.len() as f64 - idle_cores).max(0.0))
}

/// Pins the calling thread, and every thread and process that it starts later, to the generator's
/// core.
pub fn take_generator_core() -> anyhow::Result<()> {
    pin(GENERATOR_CORE)
}

/// Runs `work`, and the processes that it starts, on the core for servers.
pub fn on_served_core<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            pin(SERVED_CORE)?;
            work()
        });
        pinned.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the pinned thread panicked")))
    })
}

fn pin(index: usize) -> anyhow::Result<()> {
    // With a single core, the servers and the load generator must share it, so pin nothing.
    if let Some(core) = CORES.get(index).filter(|_| CORES.len() > 1) {
        let mut set = CpuSet::new();
        set.set(*core);
        sched_setaffinity(None, &set)?;
    }
    Ok(())
}

/// Returns the seconds of processor time that a server's live threads have used.
pub fn cpu_seconds(server: &ServerProcess) -> anyhow::Result<f64> {
    let process = Process::new(server.process().pid()?.as_raw_nonzero().get())?;
    let threads = process.tasks()?.flatten().filter_map(|thread| thread.schedstat().ok());
    Ok(threads.map(|thread| thread.sum_exec_runtime as f64 / 1e9).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_runs_on_its_own_core() {
        let core = || Ok(rustix::thread::sched_getcpu());
        if CORES.len() > 1 {
            assert_eq!(on_served_core(core).unwrap(), CORES[SERVED_CORE]);
            std::thread::spawn(move || {
                take_generator_core().unwrap();
                assert_eq!(core().unwrap(), CORES[GENERATOR_CORE]);
                // `on_served_core` runs its work in a new thread. The new thread inherits the pin
                // to the generator's core, and must replace it.
                assert_eq!(on_served_core(core).unwrap(), CORES[SERVED_CORE]);
            })
            .join()
            .unwrap();
        }
    }
}
