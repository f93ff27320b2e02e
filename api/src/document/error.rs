//! Why the document could not be emitted.

/// The trait and the constants disagree with what the document is made from.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(pub(super) String);
