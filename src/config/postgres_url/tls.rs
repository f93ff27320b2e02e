//! How connections to PostgreSQL use TLS, with the names and meanings of libpq.

use super::InvalidUrl;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use tokio_postgres::config::Host;

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
    pub(super) fn take(&mut self, name: &str, value: &str) -> Result<bool, InvalidUrl> {
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

/// As the parameters of a URL, with their `?`; nothing if there are none.
impl fmt::Display for PostgresTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = '?';
        if let Some(mode) = self.mode {
            write!(f, "?sslmode={}", mode.as_str())?;
            separator = '&';
        }
        let files =
            [("sslrootcert", &self.root), ("sslcert", &self.certificate), ("sslkey", &self.key)];
        for (name, file) in files {
            if let Some(file) = file {
                write!(f, "{separator}{name}={}", file.display())?;
                separator = '&';
            }
        }
        Ok(())
    }
}

impl TlsMode {
    const ALL: [TlsMode; 6] = [
        TlsMode::Disable,
        TlsMode::Allow,
        TlsMode::Prefer,
        TlsMode::Require,
        TlsMode::VerifyCa,
        TlsMode::VerifyFull,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            TlsMode::Disable => "disable",
            TlsMode::Allow => "allow",
            TlsMode::Prefer => "prefer",
            TlsMode::Require => "require",
            TlsMode::VerifyCa => "verify-ca",
            TlsMode::VerifyFull => "verify-full",
        }
    }
}

impl FromStr for TlsMode {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<TlsMode, InvalidUrl> {
        TlsMode::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| {
            let modes = TlsMode::ALL.map(TlsMode::as_str).join(", ");
            InvalidUrl::Parameter(format!("sslmode must be one of {modes}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::PostgresUrl;
    use super::*;

    fn url(text: &str) -> PostgresUrl {
        text.parse().unwrap()
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
        for chosen in TlsMode::ALL {
            let text = format!("postgres://u@a/d?sslmode={}", chosen.as_str());
            assert_eq!(mode(&text), chosen);
        }
        let with_root = "postgres://u@a/d?sslmode=require&sslrootcert=%2Fca.pem";
        assert_eq!(mode(with_root), TlsMode::VerifyCa);
        assert_eq!(url(with_root).tls().root, Some("/ca.pem".into()));
        assert_eq!(url("postgres://u@a/d?sslrootcert=system").tls().root, None);
    }

    #[test]
    fn it_is_shown_as_it_is_written() {
        for parameters in ["", "?sslmode=verify-ca", "?sslcert=/c.pem&sslkey=/k.pem"] {
            let text = format!("postgres://u@a:5432/d{parameters}");
            assert_eq!(format!("{:#}", url(&text)), text);
        }
        let all = "?sslmode=require&sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem";
        assert_eq!(url(&format!("postgres://u@a/d{all}")).tls().to_string(), all);
    }
}
