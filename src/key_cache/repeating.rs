//! A step that a thread repeats, whether it fails or not.

use crate::log::ErrorChain;
use crate::store::StoreError;
use slog::{Logger, error, info, warn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Repeats a step at this interval until the sender is dropped, and logs when it begins to
/// fail and when it works again. A refusal lasts until someone acts: it is an error.
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
            Ok(Err(error)) => Some(error),
            Err(_) => Some(StoreError::Engine { doing: "asked", source: "it panicked".into() }),
        };
        match (&failure, fails) {
            (Some(StoreError::Refused(why)), false) => {
                error!(log, "{} fails", doing; "error" => why);
            }
            (Some(error), false) => {
                warn!(log, "{} fails", doing; "error" => %ErrorChain(error));
            }
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
            1 => panic!("a store that panics fails too"),
            2 => Err(StoreError::Refused("a test says so".to_string())),
            3 => Ok(()),
            4 => Err(StoreError::Refused("a test says so".to_string())),
            _ => {
                stop.lock().take();
                Ok(())
            }
        };
        repeat_until(&stopped, Duration::ZERO, step, "a step", &log);
        assert_eq!(attempts.into_inner(), 6, "it goes on until it is stopped");
        let expected = ["WARN a step fails", "INFO a step works again", "ERRO a step fails"];
        assert_eq!(messages.lock().unwrap()[..3], expected);
    }
}
