//! The API's error codes, which are generated from the document, as text.

pub use crate::generated::codes::ErrorCode;

use crate::extensible_enum::extensible_enum;
use crate::generated::codes::KNOWN;
use crate::generated::types;

extensible_enum!(ErrorCode, KNOWN);

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
