//! What a command shows while it writes, or waits to.

use super::interrupts::Interrupts;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a command waits before it says so.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

/// How often the progress bar is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Does `work`, which writes to the store. If that takes long, or if long after work last called
/// what it is given, says once on standard error that it waits.
pub fn with_notice<T>(work: impl FnOnce(&dyn Fn()) -> T) -> T {
    let (progress, is_heard) = channel();
    let watch = move || loop {
        match is_heard.recv_timeout(NOTICE_AFTER) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let text = "waiting for the server or another command to write";
                // A closed standard error is ignored.
                let _ = writeln!(anstream::stderr(), "{text}");
                return;
            }
        }
    };
    // Without the thread nothing is said.
    let _ = std::thread::Builder::new().name("notice".to_string()).spawn(watch);
    work(&|| _ = progress.send(()))
}

/// Does `work`, which writes this many items to the store and calls what it is given with the
/// number that it has written, which ends a step. A bar shows it, and a signal ends it.
pub fn with_progress<T>(
    items: usize,
    interrupts: &Interrupts,
    work: impl FnOnce(&dyn Fn(usize) -> ControlFlow<()>) -> T,
) -> T {
    with_bar("{bar:40} {human_pos} of {human_len}", |bar| {
        bar.set_length(items as u64);
        with_notice(|is_at_work| {
            interrupts.with_steps(|end_step| {
                work(&|written| {
                    bar.set_position(written as u64);
                    is_at_work();
                    end_step()
                })
            })
        })
    })
}

/// Shows a progress bar of this template if standard error is a terminal. Another thread draws it:
/// a stalled terminal must not hold up the work.
pub fn with_bar<T>(template: &str, work: impl FnOnce(&ProgressBar) -> T) -> T {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::no_length().with_style(style);
    bar.enable_steady_tick(DRAW_EVERY);
    let done = work(&bar);
    bar.finish_and_clear();
    done
}
