//! What is warned of when a Redis is connected to. It is connected to again and again during
//! an outage, so each warning is logged once, or when it changes.

use crate::config::RedisNode;
use parking_lot::Mutex;
use slog::{Logger, warn};

/// The warnings that were logged last, and of which Redis.
#[derive(Debug, Default)]
pub struct StartWarnings(Mutex<Option<(RedisNode, Vec<&'static str>)>>);

impl StartWarnings {
    /// Logs these, unless they are the same as before.
    pub fn log(&self, node: &RedisNode, warnings: Vec<&'static str>, log: &Logger) {
        let mut logged = self.0.lock();
        let found = Some((node.clone(), warnings));
        if *logged == found {
            return;
        }
        *logged = found;
        for why in logged.iter().flat_map(|(_, warnings)| warnings) {
            warn!(log, "Redis can lose request counts"; "redis" => %node, "why" => why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slog::{Drain, Level, Never, OwnedKVList, Record, o};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts warnings.
    struct Warnings(Arc<AtomicUsize>);

    impl Drain for Warnings {
        type Ok = ();
        type Err = Never;

        fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
            assert_eq!(record.level(), Level::Warning);
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn each_is_logged_once_or_when_it_changes() {
        let count = Arc::new(AtomicUsize::new(0));
        let log = Logger::root(Warnings(Arc::clone(&count)), o!());
        let node = |port| RedisNode { host: "redis".to_string(), port };
        let warnings = StartWarnings::default();
        for (port, found, logged) in [
            (1, &["a", "b"][..], 2),
            (1, &["a", "b"], 0),
            (1, &["a", "b"], 0),
            (2, &["a", "b"], 2),
            (2, &["b"], 1),
            (2, &[], 0),
            (2, &["b"], 1),
        ] {
            let before = count.load(Ordering::Relaxed);
            warnings.log(&node(port), found.to_vec(), &log);
            assert_eq!(count.load(Ordering::Relaxed) - before, logged, "{port} {found:?}");
        }
    }
}
