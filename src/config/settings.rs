//! The server's settings: their names, meanings, defaults and types.

use super::document_settings::DocumentSettings;
use super::listen::{AdminListen, ListenAddress};
use super::store_settings::StoreSettings;
use crate::api_key::Environment;
use clap::{Arg, ArgAction, Args, Command, FromArgMatches, ValueEnum};
use ipnet::IpNet;
use slog::Level;
use std::path::PathBuf;
use std::time::Duration;
use store_orders_api::limit_constants::UNAUTHENTICATED_PER_MINUTE;

/// The time at the end of `shutdown_timeout` that is reserved for the last bans, counts and log
/// lines. At most a quarter of `shutdown_timeout` is reserved.
const FINAL_FLUSH_RESERVE: Duration = Duration::from_secs(1);

/// The minimum stall timeout. TCP keep-alive cannot detect a shorter stall, because keep-alive
/// waits at least a second before its first probe.
const SHORTEST_STALL: Duration = Duration::from_secs(1);

/// The maximum stall timeout. TCP keep-alive begins after half of the configured timeout. The
/// system allows at most 32,767 s for this half.
const LONGEST_STALL: Duration = Duration::from_secs(12 * 3_600);

/// The minimum shutdown timeout. At this minimum, 25 ms are reserved for the last bans, counts and
/// log lines.
const SHORTEST_STOP: Duration = Duration::from_millis(100);

/// The maximum stop delay, and the maximum shutdown timeout. A server that takes a day to stop
/// probably hangs.
const LONGEST_STOP: Duration = Duration::from_secs(24 * 3_600);

#[derive(Args, Clone, Debug)]
pub struct ServerConfig {
    /// Address to listen on, as HOST:PORT
    ///
    /// An address without a host, such as :8080, means every IPv4 address. Port 0 means a free
    /// port.
    #[arg(long, value_name = "HOST:PORT", env, default_value = "127.0.0.1:8080")]
    pub listen: ListenAddress,
    /// Environment whose keys are accepted: sto_live_ keys in production, sto_test_ keys in staging
    #[arg(long, value_enum, env, default_value = "production")]
    pub environment: Environment,
    /// Confirm every list with a commit in PostgreSQL
    ///
    /// The server then notices immediately that its primary was replaced, instead of within a
    /// second. Each list takes 1-2 ms longer.
    #[arg(long, env)]
    pub confirm_lists: bool,
    /// Maximum number of requests per minute that a client address may send without a valid key
    #[arg(
        long,
        value_name = "N",
        env,
        value_parser = at_least_one("with 0, a caller with a wrong key is told 429 and never 401"),
        default_value_t = UNAUTHENTICATED_PER_MINUTE
    )]
    pub unauthenticated_per_minute: u32,
    /// Network of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8; several networks
    /// are possible
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env,
        value_delimiter = ',',
        value_parser = parse_network
    )]
    pub trusted_proxies: Vec<IpNet>,
    /// Least severe level that is logged
    ///
    /// At info and debug, each request is logged. With off, nothing is logged.
    #[arg(long, value_enum, env, default_value = "info")]
    pub log_level: LogLevel,
    /// PEM file with the TLS certificate and its chain; reloaded when it changes, and on SIGHUP
    #[arg(long, value_name = "FILE", env)]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the TLS certificate
    #[arg(long, value_name = "FILE", env)]
    pub tls_key: Option<PathBuf>,
    /// Address of the admin listener, as HOST:PORT; off disables it
    ///
    /// The admin listener serves /livez, /readyz and /metrics, and requires no key.
    #[arg(long, value_name = "HOST:PORT", env, default_value = "127.0.0.1:8081")]
    pub admin_listen: AdminListen,
    /// Time after which a stalled client is disconnected
    ///
    /// A client is stalled if it has vanished or stopped reading its response. This setting has an
    /// effect only on Linux.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_within(SHORTEST_STALL, LONGEST_STALL),
        env,
        default_value = "60s"
    )]
    pub client_stall_timeout: Duration,
    /// Serve a damaged store, for an emergency
    ///
    /// Lists may lack orders. Without this setting, /readyz and all operations respond with 503
    /// once damage is found.
    #[arg(long, env)]
    pub serve_damaged: bool,
    /// Maximum memory in MiB for outdated lists that clients read slowly
    ///
    /// A list is outdated if the orders have changed since its response began. Above this maximum,
    /// the server cuts off the oldest outdated lists, but never the newest outdated list. Memory
    /// that several lists share is counted once for each list.
    #[arg(
        long,
        value_name = "N",
        env,
        value_parser = at_least_one("with 0, each cancel would cut off every list in progress"),
        default_value = "256"
    )]
    pub outdated_lists_mib: u32,
    /// Time for which the server keeps serving after a stop signal
    ///
    /// During this time, /readyz responds with 503. So load balancers can stop sending requests
    /// before the server refuses connections.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_within(Duration::ZERO, LONGEST_STOP),
        env,
        default_value = "0s"
    )]
    pub stop_delay: Duration,
    /// Maximum time that the server takes to stop, after the stop delay
    ///
    /// The server reserves the last second for saving bans and counts and writing log lines. Below
    /// 4 seconds, it reserves the last quarter. Requests in progress may use the rest.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_within(SHORTEST_STOP, LONGEST_STOP),
        env,
        default_value = "20s"
    )]
    pub shutdown_timeout: Duration,
    #[command(flatten)]
    pub document: DocumentSettings,
}

/// Returns all settings that the configuration file or an environment variable can set, as
/// arguments of a clap command.
pub fn all_settings() -> Command {
    with_settings(ServerConfig::augment_args(StoreSettings::augment_args(Command::new("settings"))))
}

/// Adds the prefix `STORE_ORDERS_` to environment variables. Lets switches take a value, so that
/// `--switch=false` overrides the configuration file.
pub fn with_settings(command: Command) -> Command {
    let setting = |arg: Arg| {
        let Some(key) = arg.get_env().map(|key| key.to_string_lossy().into_owned()) else {
            return arg;
        };
        let arg = arg.env(format!("STORE_ORDERS_{}", key.to_uppercase()));
        if !matches!(arg.get_action(), ArgAction::SetTrue) {
            return arg;
        }
        let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true);
        arg.value_name("BOOL").default_missing_value("true").default_value("false")
    };
    command.mut_args(setting).mut_subcommands(with_settings)
}

/// Makes the command treat an empty environment variable as unset.
pub fn with_set_variables(command: Command) -> Command {
    let unset_if_empty = |arg: Arg| {
        let is_empty =
            arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
        if is_empty { arg.env(None::<&str>) } else { arg }
    };
    command.mut_args(unset_if_empty).mut_subcommands(with_set_variables)
}

pub fn is_list(setting: &Arg) -> bool {
    matches!(setting.get_action(), ArgAction::Append)
}

/// True if the value may contain a password. Error messages omit the value of such a setting.
pub fn may_hold_password(setting: &Arg) -> bool {
    setting.get_id() == "store"
}

/// Converts the text of a value to JSON. An integer that is not in its shortest form, such as
/// `007`, becomes a string.
pub fn json_value(raw: &str) -> serde_json::Value {
    match (raw.parse::<i64>(), raw.parse::<bool>()) {
        (Ok(number), _) if number.to_string() == raw => number.into(),
        (_, Ok(value)) => value.into(),
        _ => raw.into(),
    }
}

impl Default for ServerConfig {
    /// Returns the default of each setting, as on an empty command line without environment
    /// variables.
    fn default() -> Self {
        let command = all_settings().mut_args(|arg| arg.env(None::<&str>));
        let matches = command.get_matches_from(["defaults"]);
        #[expect(clippy::expect_used, reason = "every setting is optional or has a default")]
        ServerConfig::from_arg_matches(&matches).expect("the defaults are valid settings")
    }
}

impl ServerConfig {
    pub fn outdated_lists_bytes(&self) -> usize {
        self.outdated_lists_mib as usize * 1024 * 1024
    }

    /// The time limit for requests in progress. It begins at the end of the stop delay.
    pub fn drain_timeout(&self) -> Duration {
        self.shutdown_timeout - self.final_flush_reserve()
    }

    /// Returns the time limit for storing the last bans, from the end of the stop delay. After this
    /// time, half of `final_flush_reserve` is left for the last counts and log lines.
    pub fn last_bans_timeout(&self) -> Duration {
        self.shutdown_timeout - self.final_flush_reserve() / 2
    }

    fn final_flush_reserve(&self) -> Duration {
        FINAL_FLUSH_RESERVE.min(self.shutdown_timeout / 4)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Only errors, such as the cause of a response with the status 500.
    Error,
    /// Errors and warnings.
    #[value(alias = "warn")]
    Warning,
    /// Also one line for each request.
    Info,
    /// Also details for developers.
    Debug,
}

impl LogLevel {
    /// Returns the least severe level that is logged, or `None` if nothing is logged.
    pub const fn level(self) -> Option<Level> {
        match self {
            LogLevel::Off => None,
            LogLevel::Error => Some(Level::Error),
            LogLevel::Warning => Some(Level::Warning),
            LogLevel::Info => Some(Level::Info),
            LogLevel::Debug => Some(Level::Debug),
        }
    }
}

/// Parses a duration such as `20s` or `1m 30s`. Errors show `examples`.
pub fn duration(text: &str, examples: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| match text.parse::<f64>() {
        Ok(_) => format!("add a unit: {examples}"),
        Err(_) => format!("{error}; write a duration like {examples}"),
    })
}

pub fn duration_within(
    shortest: Duration,
    longest: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let duration = duration(text, "500ms, 20s or 2m")?;
        if duration < shortest || duration > longest {
            let [shortest, longest] = [shortest, longest].map(humantime::format_duration);
            return Err(format!("must be from {shortest} to {longest}"));
        }
        Ok(duration)
    }
}

/// Parses a network. A single address also needs a prefix length, as in 192.0.2.7/32.
fn parse_network(text: &str) -> Result<IpNet, String> {
    text.parse().map_err(|_| {
        "write a network such as 10.0.0.0/8 or fd00::/8, or one address such as 192.0.2.7/32"
            .to_string()
    })
}

/// Returns a parser of numbers from 1; `why` explains the effect of 0.
fn at_least_one(why: &'static str) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| match text.parse::<u32>() {
        Ok(0) => Err(format!("must be at least 1: {why}")),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("must be a whole number from 1 to {}", u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_counts_have_bounds_with_reasons() {
        let refusal = |flag: &str| {
            let command = all_settings().no_binary_name(true).mut_args(|arg| arg.env(None::<&str>));
            command.try_get_matches_from([flag]).map(drop).map_err(|error| error.to_string())
        };
        for (flag, why) in [
            ("--client-stall-timeout=0s", "must be from 1s to 12h"),
            ("--client-stall-timeout=13h", "must be from 1s to 12h"),
            ("--shutdown-timeout=0s", "must be from 100ms to 1day"),
            ("--shutdown-timeout=500000000000y", "must be from 100ms to 1day"),
            ("--unauthenticated-per-minute=0", "with 0, a caller with a wrong key"),
            ("--unauthenticated-per-minute=-1", "must be a whole number from 1"),
            ("--outdated-lists-mib=0", "with 0, each cancel would cut off"),
            ("--trusted-proxy=10.0.0.1", "a network such as 10.0.0.0/8"),
        ] {
            let error = refusal(flag).unwrap_err();
            assert!(error.contains(why), "{flag}: {error}");
        }
        for flag in
            ["--client-stall-timeout=12h", "--shutdown-timeout=100ms", "--trusted-proxy=fd00::/8"]
        {
            assert_eq!(refusal(flag), Ok(()));
        }
    }

    #[test]
    fn every_setting_has_a_flag_a_variable_and_a_meaning() {
        for arg in all_settings().get_arguments() {
            let key = arg.get_id().as_str();
            let variable = format!("STORE_ORDERS_{}", key.to_uppercase());
            assert_eq!(arg.get_env(), Some(variable.as_ref()), "{key}");
            assert!(arg.get_long().is_some() && arg.get_help().is_some(), "{key}");
        }
    }
}
