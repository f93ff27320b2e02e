//! What the operator has of a server: TLS, the operators' listener, an end in
//! time, and a full disk.

mod beside_commands;
mod full_disk;
mod metrics;
mod open_files;
mod operators;
mod stalled;
mod stopping;
mod tls;
