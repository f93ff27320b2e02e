//! A step that a thread repeats, whether it fails or not.

use crate::log::ErrorChain;
use crate::store::StoreError;
use slog::{Logger, info, warn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Repeats a step at this interval until the sender is dropped, and logs when it begins to
/// fail and when it works again.
pub fn repeat_until(
    stopped: &Receiver<()>,
    interval: Duration,
    step: impl Fn() -> Result<(), StoreError>,
    doing: &'static str,
    log: &Logger,
) {
    let mut fails = false;
    loop {
        let failure = match catch_unwind(AssertUnwindSafe(&step)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(ErrorChain(&error).to_string()),
            Err(_) => Some("the store panicked".to_string()),
        };
        match (&failure, fails) {
            (Some(error), false) => warn!(log, "{} fails", doing; "error" => error),
            (None, true) => info!(log, "{} works again", doing),
            _ => {}
        }
        fails = failure.is_some();
        if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    /// A drain that keeps the messages.
    struct Messages(Arc<std::sync::Mutex<Vec<String>>>);

    impl slog::Drain for Messages {
        type Ok = ();
        type Err = slog::Never;

        fn log(&self, record: &slog::Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Never> {
            let message = format!("{} {}", record.level().as_short_str(), record.msg());
            self.0.lock().unwrap().push(message);
            Ok(())
        }
    }

    #[test]
    fn a_step_that_begins_to_fail_and_works_again_is_logged_once_each() {
        let messages = Arc::default();
        let log = Logger::root(Messages(Arc::clone(&messages)), slog::o!());
        let (stop, stopped) = channel();
        let stop = Mutex::new(Some(stop));
        let attempts = AtomicUsize::new(0);
        let step = || match attempts.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err(StoreError::Refused("a test says so".to_string())),
            2 => panic!("a store that panics fails too"),
            _ => {
                stop.lock().take();
                Ok(())
            }
        };
        repeat_until(&stopped, Duration::ZERO, step, "a step", &log);
        assert_eq!(attempts.into_inner(), 4, "it goes on until it is stopped");
        assert_eq!(*messages.lock().unwrap(), ["WARN a step fails", "INFO a step works again"]);
    }
}
