//! Builds the static program, and proves that it needs nothing of the system's libraries.

use crate::checkout::Checkout;
use crate::command::output;
use crate::crates::Crate;
use crate::target::Target;
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With the C library inside. A static program cannot ask it at run time whether it has
/// getrandom, and would read /dev/urandom, which a bare root directory lacks.
const STATIC: [&str; 3] =
    ["-Ctarget-feature=+crt-static", "--cfg", "getrandom_backend=\"linux_getrandom\""];

/// Builds the program for release, with the C library inside, and returns its file.
///
/// It has no path of this machine in it: the sources of crates are in `crates`.
pub fn build(checkout: &Checkout, target: Target, crates: &[Crate]) -> anyhow::Result<PathBuf> {
    let sources: BTreeSet<&Path> = crates.iter().filter_map(Crate::registry).collect();
    let moved = |flag: &str| -> Vec<String> {
        let crates = sources.iter().map(|from| format!("{flag}={}=crates", from.display()));
        crates.chain([format!("{flag}={}=.", checkout.root().display())]).collect()
    };
    let mut rust_flags = STATIC.map(str::to_string).to_vec();
    rust_flags.extend(moved("--remap-path-prefix"));
    let mut cargo = checkout.cargo();
    cargo.args(["build", "--release", "--locked", "--package", "store-orders"]);
    // Named, although it is this machine's: the flags are for the program alone then, and not
    // for macros, which are shared libraries.
    cargo.args(["--target", target.triple]);
    cargo.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\x1f"));
    let c_flags = format!("CFLAGS_{}", target.triple.replace('-', "_"));
    cargo.env(c_flags, moved("-ffile-prefix-map").join(" "));
    if !cargo.status().context("cannot run cargo")?.success() {
        bail!("the server does not compile");
    }
    let program =
        checkout.target_directory().join(target.triple).join("release").join("store-orders");
    prove_static(&program)?;
    Ok(program)
}

/// Fails if the program has an interpreter or needs a shared library.
fn prove_static(program: &Path) -> anyhow::Result<()> {
    let headers = output(Command::new("readelf").args(["-W", "-l", "-d"]).arg(program))
        .context("readelf is part of binutils, as is the linker")?;
    let wrong: Vec<&str> = shared(&headers);
    if !wrong.is_empty() {
        bail!("{} is not static:\n{}", program.display(), wrong.join("\n"));
    }
    Ok(())
}

/// The lines that name an interpreter or a shared library.
fn shared(headers: &str) -> Vec<&str> {
    headers.lines().filter(|line| line.contains("(NEEDED)") || line.contains(" INTERP ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_shared_libraries_is_noticed() {
        let headers = "  PHDR           0x000040\n  INTERP         0x000318 0x318\n \
                       0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]\n";
        assert_eq!(shared(headers).len(), 2);
        assert!(shared("  LOAD           0x000000\n 0x1e (FLAGS)  BIND_NOW\n").is_empty());
        let own = std::env::current_exe().unwrap();
        assert!(prove_static(&own).unwrap_err().to_string().contains("libc.so"));
    }
}
