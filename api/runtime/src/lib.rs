//! What the code that `xtask/contract` writes leans on: requests and answers, strict parameters,
//! and the emission of documents. It knows no document in particular, and is the same for each:
//! `cargo xtask contract` writes these files into every package.

pub mod answer;
pub mod emission;
pub mod parameters;
pub mod schemas;
