//! The API's error codes, which are generated from the document, as text.

pub use crate::generated::codes::ErrorCode;

use crate::generated::codes::KNOWN;
use crate::generated::types;
use std::fmt;

impl ErrorCode {
    /// The code as it is sent.
    pub fn as_str(&self) -> &str {
        match self {
            ErrorCode::Other(code) => code,
            known => KNOWN.iter().find(|(code, _)| code == known).map_or("", |(_, text)| text),
        }
    }
}

impl From<&str> for ErrorCode {
    fn from(text: &str) -> Self {
        KNOWN
            .iter()
            .find(|(_, known)| *known == text)
            .map_or_else(|| ErrorCode::Other(text.to_string()), |(code, _)| code.clone())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl types::Error {
    /// The `code`, to match on.
    pub fn error_code(&self) -> ErrorCode {
        ErrorCode::from(self.code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        for (code, text) in &KNOWN {
            assert_eq!(ErrorCode::from(*text), *code);
            assert_eq!(code.to_string(), *text);
        }
        let new = ErrorCode::from("order_frozen");
        assert_eq!(new, ErrorCode::Other("order_frozen".to_string()));
        assert_eq!(new.to_string(), "order_frozen");
    }
}
