//! Reads the settings. Flags override environment variables, which override one TOML file, which
//! overrides the defaults.
//!
//! A setting is a field of [`StoreSettings`], [`ServerConfig`] or [`DocumentSettings`] that has the
//! clap attribute `env`. The setting's environment variable and the key in the file are named after
//! the field. The file's values become clap's defaults, so clap decides which value wins.

mod default_file;
mod document_settings;
mod effective;
mod file;
mod invalid;
mod listen;
mod passwords;
mod settings;
mod store_settings;

pub use default_file::default_file;
pub use document_settings::{BaseUrl, DocumentSettings};
pub use effective::{EffectiveSettings, Setting};
pub use file::{ConfigFile, check_environment, unknown_variables, why_invalid};
pub use invalid::InvalidSettings;
pub use listen::{AdminListen, ListenAddress, ListenError};
pub use passwords::without_passwords;
pub use settings::{
    LogLevel, ServerConfig, all_settings, duration, duration_within, may_hold_password,
    with_set_variables, with_settings,
};
pub use store_settings::{StoreLocation, StoreSettings, path_parser};

pub use crate::store::postgres::PostgresUrl;
