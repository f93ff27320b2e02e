//! What a command says while it waits to write.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a command waits before it says so.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

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
