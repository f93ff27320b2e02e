//! What the process uses, under the names that Prometheus' own client libraries have.
//!
//! Read from /proc at each scrape, which Linux alone has.

use procfs::process::{LimitValue, Process};
use procfs::{ProcResult, page_size, ticks_per_second};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The metrics of this process.
#[derive(Debug)]
pub struct ProcessMetrics {
    /// Its start in Unix seconds; not a number without /proc. /proc/stat, which has that of the
    /// machine, is hidden by systemd's `ProcSubset=pid`.
    started_at: f64,
}

impl Default for ProcessMetrics {
    fn default() -> ProcessMetrics {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let running = clock_gettime(ClockId::Boottime);
        let machine = now - running.tv_sec as f64 - running.tv_nsec as f64 / 1e9;
        let ticks = Process::myself().and_then(|own| own.stat()).map(|stat| stat.starttime);
        ProcessMetrics { started_at: ticks.map_or(f64::NAN, |ticks| machine + seconds(ticks)) }
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok((cpu_seconds, gauges)) = self.figures() else { return Ok(()) };
        let cpu = ConstCounter::new(cpu_seconds);
        let name = "process_cpu_seconds";
        let help = "User and system CPU time spent.";
        cpu.encode(encoder.encode_descriptor(name, help, None, cpu.metric_type())?)?;
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

impl ProcessMetrics {
    /// The seconds of CPU time, and the gauges.
    fn figures(&self) -> ProcResult<(f64, [Gauge; 5])> {
        let own = Process::myself()?;
        let stat = own.stat()?;
        let resident = stat.rss as f64 * page_size() as f64;
        let max_files = match own.limits()?.max_open_files.soft_limit {
            LimitValue::Unlimited => f64::INFINITY,
            LimitValue::Value(files) => files as f64,
        };
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory.", resident),
            ("process_virtual_memory_bytes", "Virtual memory.", stat.vsize as f64),
            ("process_open_fds", "Open file descriptors.", own.fd_count()? as f64),
            ("process_max_fds", "File descriptors that may be open.", max_files),
            ("process_start_time_seconds", "Start, in Unix time.", self.started_at),
        ];
        Ok((seconds(stat.utime + stat.stime), gauges))
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / ticks_per_second() as f64
}

/// The name, the help and the value of a gauge.
type Gauge = (&'static str, &'static str, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_this_process() {
        let (cpu_seconds, gauges) = ProcessMetrics::default().figures().unwrap();
        let [resident, whole, open, maximum, started] = gauges.map(|(_, _, value)| value);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 3_600.0..=now + 1.0).contains(&started), "{started}");
        assert!(resident > 1e5 && resident < whole);
        assert!(open >= 3.0 && open <= maximum);
        let since = ProcessMetrics::default().figures().unwrap().0;
        assert!(since >= cpu_seconds && since < 3_600.0);
    }
}
