//! Settings for TLS to PostgreSQL, named as in libpq.

use std::fmt;
use std::path::{Path, PathBuf};
use strum::{EnumString, IntoStaticStr, VariantNames};
use tokio_postgres::config::Host;

/// TLS settings with the names and meanings of libpq, but with different defaults. Files in
/// `~/.postgresql` are not used. Without `sslrootcert`, the system's certificates are trusted. The
/// modes `allow` and `prefer` are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresTls {
    /// `sslmode`, or `None` for the default of [`PostgresTls::mode_for`].
    pub mode: Option<TlsMode>,
    /// `sslrootcert`: a PEM file of trusted authorities. `None` for `system`, which is the default.
    pub root: Option<PathBuf>,
    /// `sslcert`: a PEM file with the client's certificate.
    pub certificate: Option<PathBuf>,
    /// `sslkey`: a PEM file with the private key of the client's certificate.
    pub key: Option<PathBuf>,
}

/// The values of `sslmode`, in ascending order of protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum TlsMode {
    Disable,
    /// TLS without verification of the server. If `sslrootcert` names a file, this mode is the same
    /// as `verify-ca`.
    Require,
    /// TLS with a server whose certificate is from a trusted authority. The certificate may be for
    /// any host name.
    VerifyCa,
    /// TLS with a server whose certificate is from a trusted authority and valid for the name of
    /// the host.
    VerifyFull,
}

impl PostgresTls {
    /// Returns the mode for this host. The default is `disable` for a host on this machine, and
    /// `verify-full` for any other host.
    pub fn mode_for(&self, host: &Host) -> TlsMode {
        let default_mode = || match host {
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
        match self.mode.unwrap_or_else(default_mode) {
            TlsMode::Require if self.root.is_some() => TlsMode::VerifyCa,
            mode => mode,
        }
    }

    /// Sets the field that belongs to this URL parameter. Returns false for any other parameter.
    /// Fails if `sslmode` has an invalid value.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> Result<bool, String> {
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

/// Formats the settings as a URL query with a leading `?`, or as an empty string if there are none.
impl fmt::Display for PostgresTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = [
            ("sslmode", self.mode.map(|mode| Path::new(mode.into()))),
            ("sslrootcert", self.root.as_deref()),
            ("sslcert", self.certificate.as_deref()),
            ("sslkey", self.key.as_deref()),
        ];
        let present = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for ((name, value), separator) in present.zip(['?', '&', '&', '&']) {
            write!(f, "{separator}{name}={}", value.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(mode: Option<TlsMode>, root: Option<&str>) -> PostgresTls {
        PostgresTls { mode, root: root.map(PathBuf::from), ..PostgresTls::default() }
    }

    #[test]
    fn the_default_is_the_safest_mode_except_on_this_machine() {
        let mode = |name: &str| settings(None, None).mode_for(&Host::Tcp(name.to_string()));
        assert_eq!(mode("db.example.com"), TlsMode::VerifyFull);
        for local in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] {
            assert_eq!(mode(local), TlsMode::Disable, "{local}");
        }
        assert_eq!(settings(None, None).mode_for(&Host::Unix("/run".into())), TlsMode::Disable);
    }

    #[test]
    fn modes_survive_parsing_and_formatting() {
        let host = Host::Tcp("db.example.com".to_string());
        for name in TlsMode::VARIANTS {
            let mut tls = PostgresTls::default();
            assert_eq!(tls.set_parameter("sslmode", name), Ok(true));
            assert_eq!(Ok(tls.mode_for(&host)), name.parse());
            assert_eq!(tls.to_string(), format!("?sslmode={name}"));
        }
        assert_eq!(
            settings(Some(TlsMode::Require), Some("/ca.pem")).mode_for(&host),
            TlsMode::VerifyCa
        );
        let why = |mode| PostgresTls::default().set_parameter("sslmode", mode).unwrap_err();
        let all = "sslmode must be one of disable, require, verify-ca, verify-full";
        assert_eq!(why("on"), all);
        for rejected in ["allow", "prefer"] {
            let expected = format!("{all}; {rejected} would leave it to the server");
            assert_eq!(why(rejected), expected);
        }
    }

    #[test]
    fn files_survive_parsing_and_formatting() {
        let mut tls = PostgresTls::default();
        for (name, file) in [("sslcert", "/c.pem"), ("sslkey", "/k.pem"), ("sslrootcert", "system")]
        {
            assert_eq!(tls.set_parameter(name, file), Ok(true));
        }
        assert_eq!((tls.to_string().as_str(), &tls.root), ("?sslcert=/c.pem&sslkey=/k.pem", &None));
        assert_eq!(tls.set_parameter("sslrootcert", "/r.pem"), Ok(true));
        assert_eq!(tls.to_string(), "?sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem");
        assert_eq!(tls.set_parameter("user", "u"), Ok(false));
    }
}
