//! The address of a store in PostgreSQL, as libpq writes it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// A `postgres://` URL: several hosts, user, database, and how TLS is used.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: Config,
    tls: PostgresTls,
}

/// How connections use TLS. The names and meanings are libpq's, except that without
/// `sslrootcert` the system's certificates are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresTls {
    /// `sslmode`; if none, each host decides.
    pub mode: Option<TlsMode>,
    /// `sslrootcert`: a PEM file of the authorities that are trusted. `system` is none.
    pub root: Option<PathBuf>,
    /// `sslcert`: a PEM file of the client's own certificate.
    pub certificate: Option<PathBuf>,
    /// `sslkey`: its private key.
    pub key: Option<PathBuf>,
}

/// What `sslmode` can be, from the least protection to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server refuses to do without.
    Allow,
    /// TLS if the server has it.
    Prefer,
    /// TLS, whoever the server is; with `sslrootcert`, as `verify-ca`.
    Require,
    /// TLS with a certificate of a trusted authority.
    VerifyCa,
    /// The same, for this host's name.
    VerifyFull,
}

/// Why a text is not the address of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// It has another scheme, or none.
    #[error("write postgres://USER@HOST/DATABASE")]
    Scheme,
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

    /// How connections use TLS.
    pub fn tls(&self) -> &PostgresTls {
        &self.tls
    }

    /// The same, with this password unless the URL has one.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> PostgresUrl {
        if self.config.get_password().is_none() {
            self.config.password(password);
        }
        self
    }
}

impl PostgresTls {
    /// The mode for this host: by default nothing less than `verify-full`, unless what is
    /// sent stays on this machine.
    pub fn mode_for(&self, host: &Host) -> TlsMode {
        let own = || match host {
            Host::Tcp(name) => {
                let is_loopback = name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
                if name == "localhost" || is_loopback {
                    TlsMode::Prefer
                } else {
                    TlsMode::VerifyFull
                }
            }
            Host::Unix(_) => TlsMode::Disable,
        };
        match self.mode.unwrap_or_else(own) {
            TlsMode::Require if self.root.is_some() => TlsMode::VerifyCa,
            mode => mode,
        }
    }

    /// Takes a parameter of the URL, if it is about TLS.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, InvalidUrl> {
        match name {
            "sslmode" => self.mode = Some(value.parse()?),
            "sslrootcert" => self.root = Some(value.into()).filter(|_| value != "system"),
            "sslcert" => self.certificate = Some(value.into()),
            "sslkey" => self.key = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FromStr for TlsMode {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<TlsMode, InvalidUrl> {
        Ok(match text {
            "disable" => TlsMode::Disable,
            "allow" => TlsMode::Allow,
            "prefer" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyFull,
            _ => {
                let modes = "disable, allow, prefer, require, verify-ca, verify-full";
                return Err(InvalidUrl::Parameter(format!("sslmode must be one of {modes}")));
            }
        })
    }
}

impl FromStr for PostgresUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<PostgresUrl, InvalidUrl> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(InvalidUrl::Scheme);
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut tls, mut others) = (PostgresTls::default(), Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let decoded = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
            if !tls.take(name, &decoded)? {
                others.push(parameter);
            }
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            let why = "sslcert and sslkey belong together".to_string();
            return Err(InvalidUrl::Parameter(why));
        }
        let rest = format!("{address}?{}", others.join("&"));
        let config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            // It names the parameter, and repeats no value.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            InvalidUrl::Parameter(cause.unwrap_or_else(|| error.to_string()))
        })?;
        if config.get_hosts().is_empty() {
            return Err(InvalidUrl::NoHost);
        }
        if ![SslMode::Prefer].contains(&config.get_ssl_mode()) {
            return Err(InvalidUrl::Parameter("sslmode is given twice".to_string()));
        }
        Ok(PostgresUrl { config, tls })
    }
}

/// Without the password.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for (number, (host, port)) in self.hosts().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}:{port}")?,
                Host::Unix(path) => write!(f, "{separator}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

/// A text in which every password of a URL is replaced by `***`.
pub fn without_passwords(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find([' ', '\'', '"', '\n']).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("://");
        shown.push_str(&without_password(url));
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

/// The same for what follows the scheme of one URL.
fn without_password(url: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let mut shown = match address.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => address.to_string(),
        },
        None => address.to_string(),
    };
    let hidden = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}=***"),
        _ => parameter.to_string(),
    };
    if let Some(query) = query {
        let parameters: Vec<String> = query.split('&').map(hidden).collect();
        shown.push('?');
        shown.push_str(&parameters.join("&"));
    }
    shown
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
    fn each_mode_is_read_and_the_default_is_the_safest_but_on_this_machine() {
        let mode = |text: &str| {
            let url = url(text);
            let (host, _) = url.hosts().next().unwrap();
            url.tls().mode_for(host)
        };
        assert_eq!(mode("postgres://u@db.example.com/d"), TlsMode::VerifyFull);
        for local in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"] {
            assert_eq!(mode(&format!("postgres://u@{local}/d")), TlsMode::Prefer, "{local}");
        }
        assert_eq!(mode("postgres://u@%2Frun/d"), TlsMode::Disable);
        let all = [
            ("disable", TlsMode::Disable),
            ("allow", TlsMode::Allow),
            ("prefer", TlsMode::Prefer),
            ("require", TlsMode::Require),
            ("verify-ca", TlsMode::VerifyCa),
            ("verify-full", TlsMode::VerifyFull),
        ];
        for (name, expected) in all {
            assert_eq!(mode(&format!("postgres://u@a/d?sslmode={name}")), expected);
        }
        let with_root = "postgres://u@a/d?sslmode=require&sslrootcert=%2Fca.pem";
        assert_eq!(mode(with_root), TlsMode::VerifyCa);
        assert_eq!(url(with_root).tls().root, Some("/ca.pem".into()));
        assert_eq!(url("postgres://u@a/d?sslrootcert=system").tls().root, None);
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
        assert_eq!(with.clone().or_password("other"), with);
        assert_eq!(
            url("postgres://u@a/d").or_password("other").session().get_password(),
            Some(&b"other"[..])
        );
        let texts = [
            ("no URL at all", "no URL at all"),
            ("'postgres://u:s:e@c@a/d' is bad", "'postgres://u:***@a/d' is bad"),
            ("postgres://u@a/d?x=1&password=secret", "postgres://u@a/d?x=1&password=***"),
            ("a://u:1@h b://u:2@h", "a://u:***@h b://u:***@h"),
        ];
        for (text, shown) in texts {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
