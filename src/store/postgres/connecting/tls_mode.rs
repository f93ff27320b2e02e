//! How connections to PostgreSQL use TLS, with the names and meanings of libpq.

use std::fmt;
use std::path::{Path, PathBuf};
use strum::{EnumString, IntoStaticStr, VariantNames};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum TlsMode {
    /// Never TLS.
    Disable,
    /// TLS without verifying the server; with `sslrootcert`, as `verify-ca`.
    Require,
    /// TLS with a certificate of a trusted authority.
    VerifyCa,
    /// TLS with a certificate of a trusted authority for this host's name.
    VerifyFull,
}

impl PostgresTls {
    /// The mode for this host: by default `verify-full`, unless what is sent stays on this machine.
    pub fn mode_for(&self, host: &Host) -> TlsMode {
        let own = || match host {
            Host::Tcp(name) => {
                let is_loopback = name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
                if name == "localhost" || is_loopback {
                    TlsMode::Disable
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
    pub fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let unknown = |_| {
            let why = match value {
                "allow" | "prefer" => format!("; {value} would leave it to the server"),
                _ => String::new(),
            };
            format!("sslmode must be one of {}{why}", TlsMode::VARIANTS.join(", "))
        };
        match name {
            "sslmode" => self.mode = Some(value.parse().map_err(unknown)?),
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
        let parameters = [
            ("sslmode", self.mode.map(|mode| Path::new(mode.into()))),
            ("sslrootcert", self.root.as_deref()),
            ("sslcert", self.certificate.as_deref()),
            ("sslkey", self.key.as_deref()),
        ];
        let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for ((name, value), separator) in given.zip(['?', '&', '&', '&']) {
            write!(f, "{separator}{name}={}", value.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(mode: Option<TlsMode>, root: Option<&str>) -> PostgresTls {
        PostgresTls { mode, root: root.map(PathBuf::from), ..PostgresTls::default() }
    }

    #[test]
    fn the_default_is_the_safest_but_on_this_machine() {
        let mode = |name: &str| with(None, None).mode_for(&Host::Tcp(name.to_string()));
        assert_eq!(mode("db.example.com"), TlsMode::VerifyFull);
        for local in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] {
            assert_eq!(mode(local), TlsMode::Disable, "{local}");
        }
        assert_eq!(with(None, None).mode_for(&Host::Unix("/run".into())), TlsMode::Disable);
    }

    #[test]
    fn each_mode_is_read_and_shown_as_it_is_written() {
        let host = Host::Tcp("db.example.com".to_string());
        for name in TlsMode::VARIANTS {
            let mut tls = PostgresTls::default();
            assert_eq!(tls.take("sslmode", name), Ok(true));
            assert_eq!(Ok(tls.mode_for(&host)), name.parse());
            assert_eq!(tls.to_string(), format!("?sslmode={name}"));
        }
        assert_eq!(
            with(Some(TlsMode::Require), Some("/ca.pem")).mode_for(&host),
            TlsMode::VerifyCa
        );
        let why = |mode| PostgresTls::default().take("sslmode", mode).unwrap_err();
        let all = "sslmode must be one of disable, require, verify-ca, verify-full";
        assert_eq!(why("on"), all);
        for left_open in ["allow", "prefer"] {
            let expected = format!("{all}; {left_open} would leave it to the server");
            assert_eq!(why(left_open), expected);
        }
    }

    #[test]
    fn files_are_read_and_shown_as_they_are_written() {
        let mut tls = PostgresTls::default();
        for (name, file) in [("sslcert", "/c.pem"), ("sslkey", "/k.pem"), ("sslrootcert", "system")]
        {
            assert_eq!(tls.take(name, file), Ok(true));
        }
        assert_eq!((tls.to_string().as_str(), &tls.root), ("?sslcert=/c.pem&sslkey=/k.pem", &None));
        assert_eq!(tls.take("sslrootcert", "/r.pem"), Ok(true));
        assert_eq!(tls.to_string(), "?sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem");
        assert_eq!(tls.take("user", "u"), Ok(false));
    }
}
