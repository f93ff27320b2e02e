//! Metrics of the process's resources, named as in Prometheus' client libraries. The values come
//! from Linux's /proc.

use procfs::process::{LimitValue, Process};
use procfs::{ProcResult, page_size, ticks_per_second};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge};
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Replaces the collector in the `prometheus` crate, which counts only whole seconds of CPU time.
/// That collector also finds no start time if systemd's `ProcSubset=pid` hides /proc/stat.
#[derive(Debug)]
pub struct ProcessMetrics {
    /// Start of the process in Unix seconds, or NaN if /proc cannot be read.
    started_at: f64,
    cpu: Counter,
    gauges: [Gauge; 5],
}

impl ProcessMetrics {
    pub fn new() -> prometheus::Result<ProcessMetrics> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let uptime = clock_gettime(ClockId::Boottime);
        let booted_at = now - uptime.tv_sec as f64 - uptime.tv_nsec as f64 / 1e9;
        let ticks = Process::myself().and_then(|process| process.stat()).map(|stat| stat.starttime);
        Ok(ProcessMetrics {
            started_at: ticks.map_or(f64::NAN, |ticks| booted_at + ticks_to_seconds(ticks)),
            cpu: Counter::new("process_cpu_seconds_total", "User and system CPU time spent.")?,
            gauges: [
                Gauge::new("process_resident_memory_bytes", "Resident memory.")?,
                Gauge::new("process_virtual_memory_bytes", "Virtual memory.")?,
                Gauge::new("process_open_fds", "Open file descriptors.")?,
                Gauge::new("process_max_fds", "File descriptors that may be open.")?,
                Gauge::new("process_start_time_seconds", "Start, in Unix time.")?,
            ],
        })
    }
}

impl Collector for ProcessMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.gauges.iter().flat_map(Collector::desc).chain(self.cpu.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok((cpu_seconds, values)) = self.read_values() else { return Vec::new() };
        self.cpu.reset();
        self.cpu.inc_by(cpu_seconds);
        for (gauge, value) in self.gauges.iter().zip(values) {
            gauge.set(value);
        }
        self.gauges.iter().flat_map(Collector::collect).chain(self.cpu.collect()).collect()
    }
}

impl ProcessMetrics {
    /// Returns the CPU time in seconds, and a value for each of `gauges`.
    fn read_values(&self) -> ProcResult<(f64, [f64; 5])> {
        let process = Process::myself()?;
        let stat = process.stat()?;
        let resident = stat.rss as f64 * page_size() as f64;
        let max_files = match process.limits()?.max_open_files.soft_limit {
            LimitValue::Unlimited => f64::INFINITY,
            LimitValue::Value(files) => files as f64,
        };
        let open_files = process.fd_count()? as f64;
        let gauges = [resident, stat.vsize as f64, open_files, max_files, self.started_at];
        Ok((ticks_to_seconds(stat.utime + stat.stime), gauges))
    }
}

fn ticks_to_seconds(ticks: u64) -> f64 {
    ticks as f64 / ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_plausible() {
        let (cpu_seconds, gauges) = ProcessMetrics::new().unwrap().read_values().unwrap();
        let [resident, whole, open, maximum, started] = gauges;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 3_600.0..=now + 1.0).contains(&started), "{started}");
        assert!(resident > 1e5 && resident < whole);
        assert!(open >= 3.0 && open <= maximum);
        let since = ProcessMetrics::new().unwrap().read_values().unwrap().0;
        assert!(since >= cpu_seconds && since < 3_600.0);
    }
}
