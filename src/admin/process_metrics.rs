//! What the process uses, under the names that Prometheus' own client libraries have.
//!
//! Read from /proc at each scrape, which Linux alone has.

use procfs::process::{LimitValue, Process};
use procfs::{ProcResult, boot_time_secs, ticks_per_second};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// The metrics of this process.
#[derive(Debug)]
pub struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok(facts) = Facts::read() else { return Ok(()) };
        let cpu = ConstCounter::new(facts.cpu_seconds);
        let name = "process_cpu_seconds";
        let help = "User and system CPU time spent.";
        cpu.encode(encoder.encode_descriptor(name, help, None, cpu.metric_type())?)?;
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory.", facts.resident_bytes),
            ("process_virtual_memory_bytes", "Virtual memory.", facts.virtual_bytes),
            ("process_open_fds", "Open file descriptors.", facts.open_files),
            ("process_max_fds", "File descriptors that may be open.", facts.max_files),
            ("process_start_time_seconds", "Start, in Unix time.", facts.started_at),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

/// What is known of this process. Seconds and bytes.
struct Facts {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    open_files: f64,
    max_files: f64,
    started_at: f64,
}

impl Facts {
    fn read() -> ProcResult<Facts> {
        let own = Process::myself()?;
        let stat = own.stat()?;
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second() as f64;
        Ok(Facts {
            cpu_seconds: seconds(stat.utime + stat.stime),
            resident_bytes: stat.rss as f64 * procfs::page_size() as f64,
            virtual_bytes: stat.vsize as f64,
            open_files: own.fd_count()? as f64,
            max_files: match own.limits()?.max_open_files.soft_limit {
                LimitValue::Unlimited => f64::INFINITY,
                LimitValue::Value(files) => files as f64,
            },
            started_at: boot_time_secs()? as f64 + seconds(stat.starttime),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn the_facts_are_those_of_this_process() {
        let facts = Facts::read().unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 3_600.0..=now + 1.0).contains(&facts.started_at), "{}", facts.started_at);
        assert!(facts.resident_bytes > 1e5 && facts.resident_bytes < facts.virtual_bytes);
        assert!(facts.open_files >= 3.0 && facts.open_files <= facts.max_files);
        let _file = std::fs::File::open("/proc/self/stat").unwrap();
        let since = Facts::read().unwrap();
        assert!(since.cpu_seconds >= facts.cpu_seconds && since.cpu_seconds < 3_600.0);
    }
}
