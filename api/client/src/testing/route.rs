//! The operations of the test server, and what they answer.

use super::request::{Parameter, Sent};
use super::store::Store;
use crate::document::ErrorCode;
use serde::Serialize;

/// The operations of a version, below its path.
pub(crate) struct Version {
    pub(crate) base_path: &'static str,
    pub(crate) routes: &'static [Route],
}

/// An operation.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) answer: fn(&mut Store, &Sent) -> Answer,
    pub(crate) parameters: &'static [Parameter],
    /// The headers of each status that do not depend on the request.
    pub(crate) headers: &'static [(&'static str, &'static [Header])],
}

/// A header: its name, and its value.
pub(crate) type Header = (&'static str, &'static str);

/// A success, or the code and the message of an error.
pub(crate) type Answer = Result<Success, (ErrorCode, String)>;

/// A status, and what comes with it.
pub(crate) struct Success {
    pub(super) status: u16,
    pub(super) body: Option<String>,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Success {
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, body: None, headers: Vec::new() }
    }

    pub(crate) fn example(status: u16, body: &str) -> Self {
        Self { body: Some(body.to_string()), ..Self::empty(status) }
    }

    pub(crate) fn json<T: Serialize>(value: &T) -> Self {
        // Records and their lists are always JSON.
        Self::example(200, &serde_json::to_string(value).unwrap_or_default())
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Which of these are called depends on the store.
const _: () = {
    let _ = (Success::header, Success::json::<()>, Success::example, Success::empty);
};
