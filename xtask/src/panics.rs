//! Turns a panic of a library into an error, without its output.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. If it panics, the error is the message of the panic.
///
/// All threads share the panic hook, so it is replaced once, by one that is
/// silent only in threads that are in here.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.map_err(|payload| message_of(payload.as_ref()))
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| panic!("plain")), Err::<(), _>("plain".to_string()));
        assert_eq!(caught(|| panic!("of {}", 2)), Err::<(), _>("of 2".to_string()));
    }
}
