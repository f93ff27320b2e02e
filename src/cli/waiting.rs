//! Notices and progress bars of commands that write to the store, or wait to write.

use super::interrupts::Interrupts;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The wait after which a command prints a notice.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

/// Interval at which the progress bar is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Runs `work`, which writes to the store. Passes `work` a function to call after each step. If
/// there is no call for `NOTICE_AFTER`, prints once to standard error that the command is waiting.
pub fn with_notice<T>(work: impl FnOnce(&dyn Fn()) -> T) -> T {
    let (progress, receiver) = channel();
    let watch = move || loop {
        match receiver.recv_timeout(NOTICE_AFTER) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let text = "waiting for the server or another command to write";
                // If standard error is closed, no notice is printed.
                let _ = writeln!(anstream::stderr(), "{text}");
                return;
            }
        }
    };
    // If the thread cannot be started, no notice is printed.
    let _ = std::thread::Builder::new().name("notice".to_string()).spawn(watch);
    work(&|| _ = progress.send(()))
}

/// Runs `work`, which writes this many items to the store, and shows a progress bar. Passes `work`
/// a function to call at the end of each step with the number of written items. The function
/// returns `Break` after a signal.
pub fn with_progress<T>(
    items: usize,
    interrupts: &Interrupts,
    work: impl FnOnce(&dyn Fn(usize) -> ControlFlow<()>) -> T,
) -> T {
    with_bar("{bar:40} {human_pos} of {human_len}", |bar| {
        bar.set_length(items as u64);
        with_notice(|report_progress| {
            interrupts.with_steps(|end_step| {
                work(&|written| {
                    bar.set_position(written as u64);
                    report_progress();
                    end_step()
                })
            })
        })
    })
}

/// Shows a progress bar of this template if standard error is a terminal. Another thread draws it,
/// so that a stalled terminal does not hold up the work.
pub fn with_bar<T>(template: &str, work: impl FnOnce(&ProgressBar) -> T) -> T {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::no_length().with_style(style);
    bar.enable_steady_tick(DRAW_EVERY);
    let result = work(&bar);
    bar.finish_and_clear();
    result
}
