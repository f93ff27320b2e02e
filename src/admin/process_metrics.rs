//! What the process uses, under the names that Prometheus' own client libraries have.
//!
//! Read from /proc at each scrape: on Linux only, because elsewhere there is none.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs::{read_dir, read_to_string};

/// The metrics of this process.
#[derive(Debug)]
pub struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(facts) = Facts::read() else { return Ok(()) };
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
    /// `None` without /proc.
    fn read() -> Option<Facts> {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let memory = read_to_string("/proc/self/statm").ok()?;
        let mut pages = memory.split(' ').map_while(|pages| pages.parse::<f64>().ok());
        let mut bytes = || Some(pages.next()? * page_size() as f64);
        let (virtual_bytes, resident_bytes) = (bytes()?, bytes()?);
        let (max_files, _) = rlimit::Resource::NOFILE.get().ok()?;
        Some(Facts {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes,
            virtual_bytes,
            // The directory that is read is one of them.
            open_files: read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64,
            max_files: max_files as f64,
            started_at: started_at()?,
        })
    }
}

/// proc_pid_stat(5): field 22 in ticks after the machine's start, which is `btime` in
/// proc_stat(5).
fn started_at() -> Option<f64> {
    let own = read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name, and may hold spaces.
    let (_, fields) = own.rsplit_once(") ")?;
    let ticks: f64 = fields.split(' ').nth(19)?.parse().ok()?;
    let machine = read_to_string("/proc/stat").ok()?;
    let booted = machine.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(booted.parse::<f64>().ok()? + ticks / clock_ticks_per_second() as f64)
}

#[cfg(all(test, target_os = "linux"))]
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
