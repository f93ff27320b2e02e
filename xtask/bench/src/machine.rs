//! The machine: its description for the table, the cores that the two sides run
//! on, and how much processor time a process has used.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::HashMap;
use std::time::Duration;
use testbed::Pid;

/// What the figures were measured on.
pub fn description() -> String {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_string()
    };
    let memory = field("/proc/meminfo", "MemTotal");
    let kibibytes: f64 =
        memory.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    let kernel = rustix::system::uname();
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    format!(
        "{}, {} cores, {:.0} GiB, {} {}, TCP {}",
        field("/proc/cpuinfo", "model name"),
        cores().len(),
        kibibytes / 1024.0 / 1024.0,
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
        congestion.unwrap_or_default().trim(),
    )
}

/// How many cores were busy while nothing of ours ran: what other programs take
/// away from both sides.
pub fn busy_by_others() -> f64 {
    let busy_and_idle = || {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let numbers: Vec<f64> = text
            .lines()
            .next()
            .into_iter()
            .flat_map(str::split_whitespace)
            .filter_map(|number| number.parse().ok())
            .collect();
        let idle: f64 = numbers.iter().skip(3).take(2).sum();
        (numbers.iter().take(8).sum::<f64>() - idle, idle)
    };
    let before = busy_and_idle();
    std::thread::sleep(Duration::from_millis(400));
    let after = busy_and_idle();
    let (busy, idle) = (after.0 - before.0, after.1 - before.1);
    if busy + idle > 0.0 { cores().len() as f64 * busy / (busy + idle) } else { 0.0 }
}

/// The cores of one side of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Servers and disk loops.
    Served,
    /// The load generator.
    Generator,
    /// Both, where the clients rest most of the time and the servers are many.
    Both,
}

impl Side {
    /// Pins the calling thread, and what it starts from now on, to the side's core, or to all;
    /// not on a machine with one core.
    pub fn take(self) -> anyhow::Result<()> {
        let all = cores();
        let own = match self {
            Side::Served => all.get(..1),
            Side::Generator => all.get(1..2),
            Side::Both => Some(all),
        };
        if let Some(own) = own.filter(|_| all.len() > 1) {
            let mut set = CpuSet::new();
            own.iter().for_each(|core| set.set(*core));
            sched_setaffinity(None, &set)?;
        }
        Ok(())
    }

    /// Does this on the side's core; a process that it starts runs there.
    pub fn run<T: Send>(
        self,
        start: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                self.take()?;
                start()
            });
            starter.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the starter panicked")))
        })
    }
}

/// The cores that this process could run on before any thread was pinned.
fn cores() -> &'static [usize] {
    static CORES: std::sync::OnceLock<Vec<usize>> = std::sync::OnceLock::new();
    CORES.get_or_init(|| {
        let set = sched_getaffinity(None).unwrap_or_default();
        (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
    })
}

/// How long each thread of a process has run. Unlike requests a second this tells
/// what a request costs even where other programs use the same core.
#[derive(Clone, Debug, Default)]
pub struct CpuTime(HashMap<String, u64>);

impl CpuTime {
    /// As it stands now; nothing if the process has ended.
    pub fn of(pid: Pid) -> CpuTime {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let times = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            let ran = text.split(' ').next()?.parse().ok()?;
            Some((task.file_name().to_string_lossy().into_owned(), ran))
        });
        CpuTime(times.collect())
    }

    /// How much was used since `before`, without threads that have ended.
    pub fn since(&self, before: &CpuTime) -> Duration {
        let used = self.0.iter().map(|(thread, ran)| {
            ran.saturating_sub(before.0.get(thread).copied().unwrap_or_default())
        });
        Duration::from_nanos(used.sum())
    }
}

/// The resident memory of a process, in bytes.
pub fn resident(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_uses_time() {
        let own = rustix::process::getpid();
        let before = CpuTime::of(own);
        let work = || (0..100_000_u64).fold(0, |sum, n| std::hint::black_box(sum + n));
        let used = || CpuTime::of(own).since(&before) >= Duration::from_millis(1);
        assert!((0..10_000).any(|_| work() > 0 && used()));
        assert!(resident(own).unwrap() > 100_000);
        assert!(description().contains("cores"));
    }
}
