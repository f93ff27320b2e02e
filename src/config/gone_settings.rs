//! Settings of earlier versions, refused by name wherever they are given.

use clap::Args;

/// No value is valid.
#[derive(Clone, Copy, Debug)]
pub enum Gone {}

/// Servers on one PostgreSQL counted elsewhere once.
#[derive(Args, Clone, Debug)]
pub struct GoneSettings {
    /// Gone
    #[arg(long, global = true, hide = true, env, value_parser = gone)]
    pub limits: Option<Gone>,
    /// Gone
    #[arg(long, global = true, hide = true, env, value_parser = gone)]
    pub limits_password_file: Option<Gone>,
    /// Gone
    #[arg(long, global = true, hide = true, env, value_parser = gone)]
    pub limits_lost: Option<Gone>,
}

fn gone(_: &str) -> Result<Gone, &'static str> {
    Err("this setting is gone, remove it: servers on one PostgreSQL count requests there")
}
