//! Where nginx is installed.

use std::path::PathBuf;

/// nginx, if it is installed. Debian keeps it where only root looks for programs.
pub fn nginx_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|directory| directory.join("nginx"))
        .find(|program| program.is_file())
}
