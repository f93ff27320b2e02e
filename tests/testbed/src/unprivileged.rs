//! The account that database servers run as where this program is root: they refuse root.

use anyhow::Context;
use rustix::process::geteuid;

/// The user and group of the first of these accounts that there is; `None` if this program
/// is not root, so that servers run as the current user.
pub fn unprivileged(names: &[&str]) -> anyhow::Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd")?;
    let ids = |name: &&str| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(*name))?;
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let found = names.iter().find_map(ids);
    found.map(Some).context("there is no unprivileged account to run a database server")
}
