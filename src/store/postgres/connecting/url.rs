//! Parses the URL of a store in PostgreSQL, and formats it without its password. URLs have libpq's
//! syntax, and the parameters of tokio-postgres and [`PostgresTls`].

use super::tls_mode::PostgresTls;
use crate::blocking::spawn_blocking_with_permit;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// A parsed `postgres://` URL. The password file and the database of the request counts come from
/// other settings, not from the URL.
#[derive(Clone)]
pub struct PostgresUrl {
    config: Config,
    tls: PostgresTls,
    password_file: Option<PasswordFile>,
    limits_database: Option<String>,
}

/// The reason why a URL is refused. The message never quotes text that may be part of a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// The scheme is missing, or is neither `postgres` nor `postgresql`.
    #[error("write postgres://USER@HOST/DATABASE")]
    Scheme,
    /// The URL has an at sign or a percent sign where none is allowed. Probably the user name or
    /// the password is not percent-encoded. In such a URL, part of the password could be taken for
    /// a host or a parameter.
    // The message has no at sign, because the text before an at sign would be redacted as a
    // possible password.
    #[error(
        "percent-encode the URL's parts: %40 for an at sign, %2F for a slash, %3F for a question \
         mark, %25 for a percent sign"
    )]
    Encoding,
    /// A parameter or another part of the URL, such as a port, is unknown or invalid.
    #[error("{0}")]
    Parameter(String),
    #[error("the URL names no host")]
    NoHost,
}

impl PostgresUrl {
    pub fn hosts(&self) -> impl Iterator<Item = (&Host, u16)> {
        let ports = self.config.get_ports();
        let port = move |number: usize| match ports {
            [one] => *one,
            several => several.get(number).copied().unwrap_or(5432),
        };
        self.config.get_hosts().iter().enumerate().map(move |(number, host)| (host, port(number)))
    }

    /// Returns a configuration with the URL's user, password, database and startup options. The
    /// configuration has no hosts and none of the URL's other parameters.
    pub fn session(&self) -> Config {
        let mut session = Config::new();
        if let Some(user) = self.config.get_user() {
            session.user(user);
        }
        if let Some(password) = self.config.get_password() {
            session.password(password);
        }
        if let Some(database) = self.config.get_dbname() {
            session.dbname(database);
        }
        if let Some(options) = self.config.get_options() {
            session.options(options);
        }
        session
    }

    /// True if the URL has a password, or [`PostgresUrl::or_password`] has set one. A password file
    /// does not count.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    pub fn password_file(&self) -> Option<&PasswordFile> {
        self.password_file.as_ref()
    }

    pub fn tls(&self) -> &PostgresTls {
        &self.tls
    }

    /// Sets the database for request counts, on the store's PostgreSQL server. The default is the
    /// store's database name plus `_limits`.
    #[must_use]
    pub fn with_limits_database(mut self, database: Option<String>) -> PostgresUrl {
        self.limits_database = database;
        self
    }

    /// The name of the store's database, which defaults to the name of the user. `None` if the URL
    /// names neither.
    pub fn database(&self) -> Option<&str> {
        self.config.get_dbname().or(self.config.get_user())
    }

    pub fn limits_database(&self) -> String {
        let default = || format!("{}_limits", self.database().unwrap_or("store"));
        self.limits_database.clone().unwrap_or_else(default)
    }

    #[must_use]
    pub fn counts_database(&self) -> PostgresUrl {
        let mut limits = self.clone();
        limits.config.dbname(self.limits_database());
        limits
    }

    /// Sets the password, unless the URL has one.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> PostgresUrl {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// Sets the file that contains the password, unless a password is already set.
    #[must_use]
    pub fn or_password_file(mut self, file: &Path) -> PostgresUrl {
        if self.config.get_password().is_none() {
            let reads = Arc::new(Semaphore::new(MAX_PASSWORD_READS));
            self.password_file = Some(PasswordFile { path: file.to_path_buf(), reads });
        }
        self
    }
}

/// The maximum number of concurrent reads of a password file. Each read blocks a thread if the file
/// system hangs.
const MAX_PASSWORD_READS: usize = 4;

/// A file with the password. It is read for each connection, because the password may change.
#[derive(Clone)]
pub struct PasswordFile {
    path: PathBuf,
    reads: Arc<Semaphore>,
}

impl PasswordFile {
    pub async fn read(&self) -> io::Result<String> {
        let permit = Arc::clone(&self.reads).acquire_owned().await.map_err(io::Error::other)?;
        let path = self.path.clone();
        let read = spawn_blocking_with_permit(permit, move || read_password(&path)).await;
        read.unwrap_or_else(|panicked| Err(io::Error::other(panicked))).map_err(|error| {
            io::Error::other(format!("{} cannot be read: {error}", self.path.display()))
        })
    }
}

/// Reads a password from a file, without the line breaks at its end. Blocks.
pub fn read_password(file: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}

impl FromStr for PostgresUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<PostgresUrl, InvalidUrl> {
        let schemes = ["postgres://", "postgresql://"];
        let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or(InvalidUrl::Scheme)?;
        let (location, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = location.split_once('/').unwrap_or((location, ""));
        let is_encoded = authority.matches('@').count() <= 1
            && !database.contains('@')
            && !query.contains('@')
            && rest.split('%').skip(1).all(begins_with_two_digits);
        if !is_encoded {
            return Err(InvalidUrl::Encoding);
        }
        let (mut tls, mut others) = (PostgresTls::default(), Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            if !tls.set_parameter(name, &value).map_err(InvalidUrl::Parameter)? {
                others.push(parameter);
            }
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            let why = "sslcert and sslkey belong together".to_string();
            return Err(InvalidUrl::Parameter(why));
        }
        let without_tls = format!("postgres://{location}?{}", others.join("&"));
        let config: Config = without_tls.parse().map_err(|error: tokio_postgres::Error| {
            // The cause may quote an unknown parameter. If the password has an unencoded `&`, the
            // quoted parameter is the rest of the password. A cause that begins with `invalid
            // value` names only a known option, and quotes no text of the URL.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let is_safe =
                |cause: &String| cause.starts_with("invalid value") || !query.contains("password");
            InvalidUrl::Parameter(cause.filter(is_safe).unwrap_or_else(|| error.to_string()))
        })?;
        if config.get_hosts().is_empty() {
            return Err(InvalidUrl::NoHost);
        }
        if ![SslMode::Prefer].contains(&config.get_ssl_mode()) {
            return Err(InvalidUrl::Parameter("sslmode is given twice".to_string()));
        }
        Ok(PostgresUrl { config, tls, password_file: None, limits_database: None })
    }
}

/// True if the text begins with two hexadecimal digits, as required after a `%`.
fn begins_with_two_digits(text: &str) -> bool {
    text.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Formats the URL without the password. The alternate form `{:#}` shows `***` for a password, and
/// adds the TLS settings.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let shows_password = f.alternate() && self.config.get_password().is_some();
        let (user, password) = (self.config.get_user(), if shows_password { ":***" } else { "" });
        if user.is_some() || shows_password {
            write!(f, "{}{password}@", user.unwrap_or_default())?;
        }
        for (number, (host, port)) in self.hosts().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}:{port}")?,
                Host::Unix(path) => write!(f, "{separator}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())?;
        if f.alternate() { write!(f, "{}", self.tls) } else { Ok(()) }
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tls_mode::TlsMode;
    use super::*;

    fn url(text: &str) -> PostgresUrl {
        text.parse().unwrap()
    }

    #[test]
    fn several_hosts_keep_their_order_and_ports() {
        let hosts = |text| -> Vec<(Host, u16)> {
            url(text).hosts().map(|(host, port)| (host.clone(), port)).collect()
        };
        let tcp = |name: &str, port| (Host::Tcp(name.to_string()), port);
        assert_eq!(hosts("postgres://u@a,b:6000/d"), [tcp("a", 5432), tcp("b", 6000)]);
        assert_eq!(hosts("postgresql://u@a/d"), [tcp("a", 5432)]);
        let socket = hosts("postgres://u@%2Frun%2Fpostgresql/d");
        assert_eq!(socket, [(Host::Unix("/run/postgresql".into()), 5432)]);
    }

    #[test]
    fn the_counts_have_a_separate_database() {
        let urls = |database: Option<&str>| {
            let counts = url("postgres://u@a/d").with_limits_database(database.map(str::to_string));
            (counts.to_string(), counts.counts_database().to_string())
        };
        let store = "postgres://u@a:5432/d".to_string();
        assert_eq!(urls(None), (store.clone(), "postgres://u@a:5432/d_limits".to_string()));
        assert_eq!(urls(Some("n")), (store, "postgres://u@a:5432/n".to_string()));
        assert_eq!(url("postgres://u@a").limits_database(), "u_limits");
    }

    #[test]
    fn tls_settings_are_parsed_from_the_parameters() {
        let parameters = "sslmode=require&sslrootcert=%2Fca.pem";
        let url = url(&format!("postgres://u@[::1]/d?{parameters}&application_name=x"));
        assert_eq!(url.tls().root, Some("/ca.pem".into()));
        let (host, _) = url.hosts().next().unwrap();
        assert_eq!(url.tls().mode_for(host), TlsMode::VerifyCa);
        let url: PostgresUrl =
            "postgres://a/d?application_name=x&sslrootcert=/a%40b.pem".parse().unwrap();
        assert_eq!(url.tls().root, Some("/a@b.pem".into()));
        let why = "postgres://a/d?sslmode=require&user=u@b".parse::<PostgresUrl>();
        assert_eq!(why.unwrap_err(), InvalidUrl::Encoding);
    }

    #[test]
    fn errors_name_the_problem() {
        let why = |text: &str| text.parse::<PostgresUrl>().unwrap_err().to_string();
        assert_eq!(why("mysql://a/d"), "write postgres://USER@HOST/DATABASE");
        assert_eq!(why("postgres:///d"), "the URL names no host");
        assert!(why("postgres://u@a/d?sslmode=on").contains("must be one of disable, require"));
        assert!(why("postgres://u@a/d?sslcert=a.pem").contains("belong together"));
        assert!(why("postgres://u@a/d?colour=red").contains("colour"));
        assert!(!why("postgres://u:secret@a:x/d").contains("secret"));
    }

    #[test]
    fn the_password_is_shown_nowhere() {
        let with_password = url("postgres://u:secret@a:1,b/d?sslmode=require");
        assert_eq!(with_password.to_string(), "postgres://u@a:1,b:5432/d");
        assert!(!format!("{with_password:?} {:?}", with_password.session()).contains("secret"));
        assert_eq!(with_password.session().get_password(), Some(&b"secret"[..]));
        let unchanged = with_password.clone().or_password("other").or_password_file("f".as_ref());
        assert_eq!(unchanged.session().get_password(), Some(&b"secret"[..]));
        assert!(unchanged.password_file().is_none());
        assert_eq!(
            url("postgres://u@a/d").or_password("other").session().get_password(),
            Some(&b"other"[..])
        );
        let shown = "postgres://u:***@a:1,b:5432/d?sslmode=require";
        assert_eq!(format!("{with_password:#}"), shown);
        assert_eq!(format!("{:#}", url("postgres://:secret@a")), "postgres://:***@a:5432/");
    }

    #[test]
    fn a_password_that_is_not_encoded_is_refused_and_not_repeated() {
        for text in [
            "u:se@cret@a/d",
            "u:se?cret@a/d",
            "u:12/se?cret@a/d",
            "u:12/secret@a/d",
            "u:12?password=se@a/d",
            "u:se%cret@a/d",
            "u:secret%4@a/d",
            "a/d?password=@cret",
            "u@a/d?password=secret%",
        ] {
            let why = format!("postgres://{text}").parse::<PostgresUrl>().unwrap_err();
            assert_eq!(why, InvalidUrl::Encoding, "{text}");
            assert!(!why.to_string().contains("cret"));
        }
        let encoded = url("postgres://u:12%2Fse%3Fc%40%25ret@a/d");
        assert_eq!(encoded.session().get_password(), Some(&b"12/se?c@%ret"[..]));
        let why = "postgres://u@a/d?password=1&secret=2".parse::<PostgresUrl>().unwrap_err();
        assert!(!why.to_string().contains("secret"), "{why}");
    }
}
