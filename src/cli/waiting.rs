//! Shows the progress of long commands, and a notice while a command waits to write to the store.

use super::interrupts::Interrupts;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::cell::OnceCell;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// If a step of a command takes longer than this, the command prints a notice that it waits.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Interval between two lines about the progress if standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Runs `work`, which may report each step by calling its argument. Prints one notice if `work`
/// reports no step for `NOTICE_AFTER`.
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

/// Runs `work` with [`show_progress`] and [`with_notice`]. `work` reports the items written so far
/// after each step. `Break` means that a signal arrived.
pub fn with_progress<T>(
    items: usize,
    interrupts: &Interrupts,
    work: impl FnOnce(&dyn Fn(usize) -> ControlFlow<()>) -> T,
) -> T {
    show_progress("{wide_bar} {human_pos} of {human_len}{left}", |report| {
        report(0, items as u64);
        with_notice(|report_step| {
            interrupts.with_steps(|end_step| {
                work(&|written| {
                    report(written as u64, items as u64);
                    report_step();
                    end_step()
                })
            })
        })
    })
}

/// Runs `work` and shows its progress. `work` calls its argument with the amount done and the
/// total.
///
/// If standard error is not a terminal, another thread prints the progress, so that a blocked pipe
/// does not delay the work.
pub fn show_progress<T>(template: &str, work: impl FnOnce(&dyn Fn(u64, u64)) -> T) -> T {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let remaining = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&time_left(state.pos(), state.len(), state.elapsed()));
    };
    let style = style.with_key("left", remaining);
    // The bar starts with the first report, because the total is unknown until then.
    let begun = OnceCell::new();
    let result = work(&|done, all| {
        let (bar, _) = begun.get_or_init(|| begin(style.clone(), all));
        bar.update(|state| {
            state.set_len(all);
            state.set_pos(done);
        });
    });
    if let Some((bar, _)) = begun.into_inner() {
        bar.finish_and_clear();
    }
    result
}

/// Starts the progress bar. If standard error is not a terminal, a thread prints a line about the
/// progress at regular intervals, until the returned sender is dropped.
fn begin(style: ProgressStyle, all: u64) -> (ProgressBar, Sender<()>) {
    let bar = ProgressBar::new(all).with_style(style);
    bar.enable_steady_tick(DRAW_EVERY);
    let (sender, ended) = channel();
    if !std::io::stderr().is_terminal() {
        let bar = bar.clone();
        // If standard error is closed, or the thread cannot be started, no line is printed.
        let print = move || {
            print_lines(&bar, LINE_EVERY, &ended, |line| {
                let _ = writeln!(anstream::stderr(), "{line}");
            });
        };
        let _ = std::thread::Builder::new().name("progress".to_string()).spawn(print);
    }
    (bar, sender)
}

/// Prints a line about the progress once per `interval`, until the sender of `ended` is dropped.
fn print_lines(
    bar: &ProgressBar,
    interval: Duration,
    ended: &Receiver<()>,
    mut print: impl FnMut(String),
) {
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
        print(format_line(bar.position(), bar.length(), bar.elapsed()));
    }
}

/// Formats a line about the progress, such as `30 %, about 2 minutes left`.
fn format_line(done: u64, all: Option<u64>, elapsed: Duration) -> String {
    let percent = done.saturating_mul(100).checked_div(all.unwrap_or(0)).unwrap_or(0);
    format!("{percent} %{}", time_left(done, all, elapsed))
}

/// Formats the remaining time as the end of a line, such as `, about 2 minutes left`. Assumes
/// constant speed. Returns an empty string until the first step is done, and after the last step.
fn time_left(done: u64, all: Option<u64>, elapsed: Duration) -> String {
    let rest = all.unwrap_or(0).saturating_sub(done);
    if done == 0 || rest == 0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * rest as f64 / done as f64;
    let remaining = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    format!(", about {} left", HumanDuration(remaining))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_an_estimate_once_something_is_done() {
        let minute = Duration::from_secs(60);
        assert_eq!(format_line(0, None, minute), "0 %");
        assert_eq!(format_line(0, Some(10), minute), "0 %");
        assert_eq!(format_line(3, Some(9), minute), "33 %, about 2 minutes left");
        assert_eq!(format_line(9, Some(9), minute), "100 %");
    }

    #[test]
    fn lines_are_printed_until_the_work_ends() {
        let bar = ProgressBar::hidden();
        bar.set_length(4);
        bar.set_position(1);
        let ((end, ended), (sender, lines)) = (channel::<()>(), channel());
        let printing = std::thread::spawn(move || {
            print_lines(&bar, Duration::from_millis(1), &ended, |line| {
                let _ = sender.send(line);
            });
        });
        let line = lines.recv().unwrap();
        assert!(line.starts_with("25 %, about "), "{line}");
        drop(end);
        printing.join().unwrap();
    }
}
