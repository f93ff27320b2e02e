//! The settings of every command: where the store is, and where requests are counted.

use super::invalid::InvalidSettings;
use super::postgres_url::PostgresUrl;
use super::redis_url::{InvalidRedisUrl, RedisUrl};
use super::url_parts::read_password;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The settings of every command.
#[derive(Args, Clone, Debug)]
pub struct StoreSettings {
    /// PostgreSQL database that holds the store, for several replicas
    ///
    /// It takes the place of the store in the data directory. The URL may have several hosts,
    /// sslmode and certificates, as libpq has them.
    #[arg(
        long,
        global = true,
        value_name = "postgres://USER@HOST/DATABASE",
        env = "STORE_ORDERS_STORE"
    )]
    pub store: Option<PostgresUrl>,
    /// File that holds the password for the store in PostgreSQL
    ///
    /// Without it, the environment variable PGPASSWORD is used.
    #[arg(long, global = true, value_name = "FILE", env = "STORE_ORDERS_STORE_PASSWORD_FILE")]
    pub store_password_file: Option<PathBuf>,
    /// Directory of the store; created if missing
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "STORE_ORDERS_DATA_DIR",
        value_parser = path_parser(),
        default_value = "./store-orders-data"
    )]
    pub data_dir: PathBuf,
    /// Redis in which replicas count requests together, or local
    ///
    /// It is named by its address or by redis+sentinel://HOST,HOST/SERVICE; rediss:// and
    /// rediss+sentinel:// go through TLS (?sslrootcert=FILE). With local, this server counts
    /// in its memory and data directory, so that with a store in PostgreSQL each replica
    /// grants every account its whole plan.
    #[arg(
        long,
        global = true,
        value_name = "redis://HOST:PORT|local",
        env = "STORE_ORDERS_LIMITS"
    )]
    pub limits: Option<LimitsPlace>,
    /// File that holds the password for the Redis that counts requests
    ///
    /// It is for a Sentinel that asks for one, too. Without it, the environment variable
    /// REDISCLI_AUTH is used.
    #[arg(long, global = true, value_name = "FILE", env = "STORE_ORDERS_LIMITS_PASSWORD_FILE")]
    pub limits_password_file: Option<PathBuf>,
}

/// Where orders, pets, accounts and keys are.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// In this directory, in the embedded store.
    Directory(PathBuf),
    /// In PostgreSQL.
    Postgres(Box<PostgresUrl>),
}

impl StoreSettings {
    /// What names the store in an error.
    pub fn name(&self) -> String {
        match &self.store {
            Some(url) => format!("store {url}"),
            None => format!("data directory {}", self.data_dir.display()),
        }
    }

    /// Where the store is. The file with the password, if one is named, can be read.
    pub fn location(&self) -> Result<StoreLocation, InvalidSettings> {
        let Some(url) = self.store.clone() else {
            if self.data_dir.exists() && !self.data_dir.is_dir() {
                return Err(InvalidSettings(vec![format!(
                    "cannot use the data directory {}: it is a file; choose another --data-dir",
                    self.data_dir.display()
                )]));
            }
            return Ok(StoreLocation::Directory(self.data_dir.clone()));
        };
        let file = self.store_password_file.as_deref();
        let password = password("store_password_file", file, "PGPASSWORD")?;
        let url = match (file, password) {
            (Some(file), _) => url.or_password_file(file),
            (None, Some(password)) => url.or_password(&password),
            (None, None) => url,
        };
        Ok(StoreLocation::Postgres(Box::new(url)))
    }

    /// Whether the data directory has the counts of requests.
    pub fn counts_in_directory(&self) -> bool {
        match &self.limits {
            Some(LimitsPlace::Local) => true,
            Some(LimitsPlace::Redis(_)) => false,
            None => self.store.is_none(),
        }
    }

    /// The Redis where requests are counted; `None` if this server counts alone. Reads the
    /// file with the password, if one is named.
    pub fn limits_redis(&self) -> Result<Option<RedisUrl>, InvalidSettings> {
        let Some(LimitsPlace::Redis(url)) = self.limits.clone() else { return Ok(None) };
        let password = password(
            "limits_password_file",
            self.limits_password_file.as_deref(),
            "REDISCLI_AUTH",
        )?;
        Ok(Some(match password {
            Some(password) => url.or_password(&password),
            None => url,
        }))
    }
}

/// The password in this file, or else in this variable.
fn password(
    setting: &str,
    file: Option<&Path>,
    variable: &str,
) -> Result<Option<String>, InvalidSettings> {
    let password = match file {
        None => std::env::var(variable).ok(),
        Some(path) => Some(read_password(path).map_err(|error| {
            let place = path.display();
            InvalidSettings(vec![format!("{setting}: {place} cannot be read: {error}")])
        })?),
    };
    Ok(password)
}

/// Where requests are counted.
#[derive(Clone, Debug)]
pub enum LimitsPlace {
    /// In this server, which keeps the counts in its data directory.
    Local,
    /// In this Redis, with other servers.
    Redis(RedisUrl),
}

impl fmt::Display for LimitsPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitsPlace::Local => f.write_str("local"),
            LimitsPlace::Redis(url) => url.fmt(f),
        }
    }
}

impl FromStr for LimitsPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<LimitsPlace, String> {
        match text {
            "local" => Ok(LimitsPlace::Local),
            _ => text
                .parse()
                .map(LimitsPlace::Redis)
                .map_err(|error: InvalidRedisUrl| format!("{error}; or local")),
        }
    }
}

/// Parses the path of a file or directory that SQLite opens. One that begins with `file:`
/// would be a URI to it: the bundled SQLite is built so, and no flag turns that off.
pub fn path_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| {
        let is_uri = path.as_os_str().as_encoded_bytes().starts_with(b"file:");
        if is_uri { Path::new(".").join(path) } else { path }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_has_the_counts_of_a_store_in_it_or_of_local_limits() {
        let counts = |store: Option<&str>, limits: Option<&str>| {
            let settings = StoreSettings {
                store: store.map(|url| url.parse().unwrap()),
                store_password_file: None,
                data_dir: "data".into(),
                limits: limits.map(|place| place.parse().unwrap()),
                limits_password_file: None,
            };
            settings.counts_in_directory()
        };
        let (postgres, redis) = (Some("postgres://u@a/d"), Some("redis://a"));
        assert!(counts(None, None) && counts(None, Some("local")));
        assert!(counts(postgres, Some("local")) && !counts(postgres, None));
        assert!(!counts(None, redis) && !counts(postgres, redis));
    }
}
