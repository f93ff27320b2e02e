//! Tests the commands of `cargo xtask`, with the real files and with files that have errors.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod check;
mod checkout;
mod client_imports;
mod client_methods;
mod client_package;
mod compatibility;
mod documents;
mod every_leaf;
mod external_checks;
mod generate;
mod history;
mod mutants;
mod picture;
mod pins;
mod promises;
mod publish;
mod seeded_defects;
mod upstream;
