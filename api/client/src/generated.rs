//! Progenitor's client of each document, which `cargo xtask generate` writes.

#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = "generated")]
pub(crate) mod v1;
#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = "generated")]
pub(crate) mod v2;
