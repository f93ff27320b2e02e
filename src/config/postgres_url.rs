//! The address of a store in PostgreSQL, as libpq writes it.

mod tls;

pub use tls::{PostgresTls, TlsMode};

use super::url_parts::{decoded, write_user};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// A `postgres://` URL: several hosts, user, database, and how TLS is used.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: Config,
    tls: PostgresTls,
    password_file: Option<PathBuf>,
    limits_database: Option<String>,
}

/// Why a text is not the address of a store. It repeats nothing that may be of a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// It has another scheme, or none.
    #[error("write postgres://USER@HOST/DATABASE")]
    Scheme,
    /// What belongs to a user name or a password may stand elsewhere.
    #[error("in a user name or password, write @ as %40, / as %2F and ? as %3F")]
    Encoding,
    /// A parameter is not one of libpq's, or its value is not.
    #[error("{0}")]
    Parameter(String),
    /// It names no host.
    #[error("the URL names no host")]
    NoHost,
}

impl PostgresUrl {
    /// The hosts in the order in which they are tried, each with its port.
    pub fn hosts(&self) -> impl Iterator<Item = (&Host, u16)> {
        let ports = self.config.get_ports();
        let port = move |number: usize| match ports {
            [one] => *one,
            several => several.get(number).copied().unwrap_or(5432),
        };
        self.config.get_hosts().iter().enumerate().map(move |(number, host)| (host, port(number)))
    }

    /// User, password, database and options, without hosts.
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

    /// The file with the password, to be read at each connection: the password may change.
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// How connections use TLS.
    pub fn tls(&self) -> &PostgresTls {
        &self.tls
    }

    /// The same, with the request counts in this database of its cluster.
    #[must_use]
    pub fn with_limits_database(mut self, database: Option<String>) -> PostgresUrl {
        self.limits_database = database;
        self
    }

    /// The name of the database of the request counts, if they have one of their own.
    pub fn limits_database(&self) -> Option<&str> {
        self.limits_database.as_deref()
    }

    /// Where requests are counted.
    #[must_use]
    pub fn limits(&self) -> PostgresUrl {
        let mut limits = self.clone();
        if let Some(database) = &self.limits_database {
            limits.config.dbname(database);
        }
        limits
    }

    /// The same, with this password unless the URL has one.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> PostgresUrl {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }

    /// The same, with the password in this file unless the URL has one.
    #[must_use]
    pub fn or_password_file(mut self, file: &Path) -> PostgresUrl {
        if self.config.get_password().is_none() {
            self.password_file = Some(file.to_path_buf());
        }
        self
    }
}

impl FromStr for PostgresUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<PostgresUrl, InvalidUrl> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(InvalidUrl::Scheme);
        }
        // As tokio-postgres does: a password may have a `?` that is not encoded. But the name of
        // a certificate's file may have an `@`.
        let user = text.find('@').and_then(|at| text.get(..at)).unwrap_or_default();
        let parameters = user.split_once('?').map(|(_, parameters)| parameters).unwrap_or_default();
        let is_tls = parameters.split('&').any(|parameter| parameter.starts_with("ssl"));
        let user = if is_tls { "" } else { user };
        let place = text.strip_prefix(user).unwrap_or_default();
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        // Or what is of a password would be taken for a host or a database.
        if place.matches('@').count() > 1 || parameters.contains("password=") {
            return Err(InvalidUrl::Encoding);
        }
        let address = format!("{user}{place}");
        let (mut tls, mut others) = (PostgresTls::default(), Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let is_taken = tls.take(name, &decoded(value));
            if !is_taken.map_err(|why| InvalidUrl::Parameter(why.to_string()))? {
                others.push(parameter);
            }
        }
        if user.is_empty() && others.iter().any(|parameter| parameter.contains('@')) {
            return Err(InvalidUrl::Encoding);
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            let why = "sslcert and sslkey belong together".to_string();
            return Err(InvalidUrl::Parameter(why));
        }
        let rest = format!("{address}?{}", others.join("&"));
        let config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            // It names the parameter, and repeats no value. But what follows an `&` of a
            // password would be taken for a parameter.
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

/// Without the password. The alternate form, `{:#}`, says that there is one, and how TLS is
/// used.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let shows_password = f.alternate() && self.config.get_password().is_some();
        write_user(f, self.config.get_user(), shows_password)?;
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
    fn how_tls_is_used_is_read_from_the_parameters() {
        let parameters = "sslmode=require&sslrootcert=%2Fca.pem";
        let url = url(&format!("postgres://u@[::1]/d?{parameters}&application_name=x"));
        assert_eq!(url.tls().root, Some("/ca.pem".into()));
        let (host, _) = url.hosts().next().unwrap();
        assert_eq!(url.tls().mode_for(host), TlsMode::VerifyCa);
        for user in ["", "u:se?cret@"] {
            let text = format!("postgres://{user}a/d?application_name=x&sslrootcert=/a@b.pem");
            let url: PostgresUrl = text.parse().unwrap();
            assert_eq!(url.tls().root, Some("/a@b.pem".into()));
            assert_eq!(url.hosts().next().unwrap().0, &Host::Tcp("a".to_string()));
        }
        let why = "postgres://a/d?sslmode=require&user=u@b".parse::<PostgresUrl>();
        assert_eq!(why, Err(InvalidUrl::Encoding));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let why = |text: &str| text.parse::<PostgresUrl>().unwrap_err().to_string();
        assert_eq!(why("mysql://a/d"), "write postgres://USER@HOST/DATABASE");
        assert_eq!(why("postgres:///d"), "the URL names no host");
        assert!(why("postgres://u@a/d?sslmode=on").contains("must be one of disable, allow"));
        assert!(why("postgres://u@a/d?sslcert=a.pem").contains("belong together"));
        assert!(why("postgres://u@a/d?colour=red").contains("colour"));
        assert!(!why("postgres://u:secret@a:x/d").contains("secret"));
    }

    #[test]
    fn the_password_is_shown_nowhere() {
        let with = url("postgres://u:secret@a:1,b/d?sslmode=require");
        assert_eq!(with.to_string(), "postgres://u@a:1,b:5432/d");
        assert!(!format!("{with:?} {:?}", with.session()).contains("secret"));
        assert_eq!(with.session().get_password(), Some(&b"secret"[..]));
        assert_eq!(with.clone().or_password("other").or_password_file("f".as_ref()), with);
        assert_eq!(
            url("postgres://u@a/d").or_password("other").session().get_password(),
            Some(&b"other"[..])
        );
        let shown = "postgres://u:***@a:1,b:5432/d?sslmode=require";
        assert_eq!(format!("{with:#}"), shown);
        assert_eq!(format!("{:#}", url("postgres://:secret@a")), "postgres://:***@a:5432/");
    }

    #[test]
    fn a_password_that_is_not_encoded_is_taken_for_nothing_else() {
        for text in ["se@cret", "se?cret", "12/se?cret", "12?password=se"] {
            let text = format!("postgres://u:{text}@a/d");
            match text.parse::<PostgresUrl>() {
                Ok(url) => assert_eq!(url.to_string(), "postgres://u@a:5432/d"),
                Err(why) => assert_eq!(why, InvalidUrl::Encoding, "{text}"),
            }
        }
        let password = |text: &str| url(text).session().get_password().map(<[u8]>::to_vec);
        assert_eq!(password("postgres://u:12/se?cret@a/d"), Some(b"12/se?cret".to_vec()));
        assert!("postgres://a?password=@cret".parse::<PostgresUrl>().is_err());
        let why = "postgres://u@a/d?password=1&secret=2".parse::<PostgresUrl>().unwrap_err();
        assert!(!why.to_string().contains("secret"), "{why}");
    }
}
