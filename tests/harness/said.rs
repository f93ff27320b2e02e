//! What a command of the real program said, and how it ended.

use serde_json::Value;
use std::process::Output;

/// What a command said, and how it ended.
pub struct Said {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Said {
        Said {
            status: output.status.code().expect("no signal ends it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output of a command that did what it was asked, and said no more.
    pub fn done(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Standard output of such a command, as JSON.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// The error of a command that could not do what it was asked: one line.
    pub fn error(self) -> String {
        let lines = self.errors();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.into_iter().next().unwrap()
    }

    /// The lines of such an error, where it has several.
    pub fn errors(self) -> Vec<String> {
        assert_eq!((self.status, self.out.as_str()), (1, ""), "{}", self.err);
        let text = self.err.strip_prefix("error: ").unwrap();
        text.lines().map(ToString::to_string).collect()
    }

    /// The error of a command line that is none.
    pub fn usage(self) -> String {
        assert_eq!((self.status, self.out.as_str()), (2, ""), "{}", self.err);
        self.err
    }
}
