//! The command line: the real program, each test in a directory of its own.

mod accounts;
mod backup;
mod check;
mod config;
mod data_directory;
mod errors;
mod handbook;
mod health;
mod help;
mod imports;
mod keys;
mod orders;
mod status;

use std::path::Path;

/// Inverts every byte of a page of a file.
fn damage(file: &Path, page: usize) {
    let mut content = std::fs::read(file).unwrap();
    let bytes = &mut content[page * 4096..(page + 1) * 4096];
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    std::fs::write(file, content).unwrap();
}
