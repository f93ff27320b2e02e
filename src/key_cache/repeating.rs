//! Repeats a step of a background task, even after the step has failed or panicked.

use crate::log::ErrorChain;
use crate::store::StoreError;
use futures::FutureExt;
use slog::{Logger, error, info, warn};
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::sleep;

/// Repeats a step forever, and pauses after each attempt. Logs when the step begins to fail and
/// when it works again. Logs [`StoreError::Refused`] as an error, because such a failure lasts
/// until the operator acts.
pub async fn repeat<F: Future<Output = Result<(), StoreError>>>(
    pause: Duration,
    step: impl Fn() -> F,
    doing: &'static str,
    log: &Logger,
) {
    let mut fails = false;
    loop {
        let failure = match AssertUnwindSafe(step()).catch_unwind().await {
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
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::task::yield_now;

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

    #[tokio::test]
    async fn the_first_failure_and_the_recovery_of_a_step_are_logged_once() {
        let messages = Arc::default();
        let log = Logger::root(Messages(Arc::clone(&messages)), slog::o!());
        let attempts = AtomicUsize::new(0);
        let step = || async {
            match attempts.fetch_add(1, Ordering::Relaxed) {
                0 | 3 => Ok(()),
                1 => panic!("a store that panics fails too"),
                2 | 4 => Err(StoreError::Refused("a test says so".to_string())),
                _ => pending().await,
            }
        };
        let repeating = repeat(Duration::ZERO, step, "a step", &log);
        let six_attempts = async {
            while attempts.load(Ordering::Relaxed) < 6 {
                yield_now().await;
            }
        };
        tokio::select! {
            () = repeating => unreachable!(),
            () = six_attempts => {}
        }
        let expected = ["WARN a step fails", "INFO a step works again", "ERRO a step fails"];
        assert_eq!(messages.lock().unwrap()[..], expected);
    }
}
