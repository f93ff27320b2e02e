//! What whoever runs the service relies on: settings, backups, checks, one server
//! a store, and what shells and systemd are told.

mod backup;
mod check;
mod one_server;
mod printed;
mod settings;

use crate::harness::place::Place;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

impl Place {
    /// The names in a directory, hidden ones too.
    fn names(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn serve(&self, arguments: &[&str]) -> Serving {
        let mut child = self
            .command(&[&["serve", "--admin-listen", "off"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = out.find(|line| line.as_ref().unwrap().starts_with("listening on "));
        let url = line.expect("it listens").unwrap().replace("listening on ", "");
        let err = child.stderr.take().unwrap();
        Serving { child, url, err: Some(err), _out: out }
    }
}

/// A server of its own process, which ends with the test.
struct Serving {
    child: Child,
    url: String,
    err: Option<ChildStderr>,
    _out: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    /// Kills it, and answers what it had logged.
    fn kill(mut self) -> String {
        let mut log = String::new();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::io::Read::read_to_string(&mut self.err.take().unwrap(), &mut log).unwrap();
        log
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Turns every byte of a page of a file over.
fn damage(file: &Path, page: usize) {
    let mut content = std::fs::read(file).unwrap();
    let bytes = &mut content[page * 4096..(page + 1) * 4096];
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    std::fs::write(file, content).unwrap();
}
