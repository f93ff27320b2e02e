//! Enums whose values the API may add to, which are generated from the document, as text.

/// `as_str`, `From<&str>` and `Display` of such an enum, from the spellings that are generated
/// with it.
macro_rules! extensible_enum {
    ($name:ty, $known:path) => {
        impl $name {
            /// The value as it is sent.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Other(text) => text,
                    known => {
                        $known.iter().find(|(value, _)| value == known).map_or("", |(_, text)| text)
                    }
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                let known = $known.iter().find(|(_, known)| *known == text);
                known.map_or_else(|| Self::Other(text.to_string()), |(value, _)| value.clone())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use extensible_enum;
