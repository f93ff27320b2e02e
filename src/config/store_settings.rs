//! The settings that locate the store and the request counts. Every command has their flags.

use super::invalid::InvalidSettings;
use crate::store::postgres::{PostgresUrl, read_password};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct StoreSettings {
    /// PostgreSQL database that holds the store, for several replicas
    ///
    /// With this setting, no store in the data directory is used. As in libpq, the URL can list
    /// several hosts and set sslmode, sslrootcert, sslcert and sslkey.
    #[arg(long, global = true, value_name = "postgres://USER@HOST/DATABASE", env)]
    pub store: Option<PostgresUrl>,
    /// File that holds the password for the store in PostgreSQL
    ///
    /// A password in the URL of the store overrides the file. If both are missing, the environment
    /// variable PGPASSWORD is used.
    #[arg(long, global = true, value_name = "FILE", env)]
    pub store_password_file: Option<PathBuf>,
    /// Database of the request counts, in the PostgreSQL cluster of the store
    ///
    /// Without this setting, the name is that of the store's database, followed by _limits. All
    /// servers and commands must use the same database. `migrate` creates the database if the role
    /// is allowed to.
    #[arg(long, global = true, value_name = "NAME", env)]
    pub limits_database: Option<String>,
    /// Directory of the store
    ///
    /// A missing directory is created by `serve`, `restore`, `accounts create` and imports.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env,
        value_parser = path_parser(),
        default_value = "./store-orders-data"
    )]
    pub data_dir: PathBuf,
}

/// The location of orders, pets, accounts and keys.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// The embedded store in this directory.
    Directory(PathBuf),
    Postgres(Box<PostgresUrl>),
}

impl StoreSettings {
    pub fn name(&self) -> String {
        match &self.store {
            Some(url) => format!("store {url}"),
            None => format!("data directory {}", self.data_dir.display()),
        }
    }

    /// Returns the location of the store. If the URL has no password, the password comes from
    /// `store_password_file`, or else from the variable PGPASSWORD. Fails if the settings cannot be
    /// used.
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
        let password = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty());
        let url = match (file, password) {
            (Some(file), _) => {
                // This call only checks that the file is readable, because each connection reads
                // the file again.
                read_password(file).map_err(|error| {
                    let place = file.display();
                    let why = format!("store_password_file: {place} cannot be read: {error}");
                    InvalidSettings(vec![why])
                })?;
                url.or_password_file(file)
            }
            (None, Some(password)) => url.or_password(&password),
            (None, None) => url,
        };
        let limits = self.limits_database.clone();
        if limits.as_deref().is_some_and(|name| url.database() == Some(name)) {
            let why =
                "limits_database: the store's own database; the request counts need another one";
            return Err(InvalidSettings(vec![why.to_string()]));
        }
        let url = url.with_limits_database(limits);
        Ok(StoreLocation::Postgres(Box::new(url)))
    }
}

/// Parses a path that SQLite opens. Adds `./` to a path that begins with `file:`, because the
/// bundled SQLite would interpret the path as a URI.
pub fn path_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| {
        let is_uri = path.as_os_str().as_encoded_bytes().starts_with(b"file:");
        if is_uri { Path::new(".").join(path) } else { path }
    })
}
