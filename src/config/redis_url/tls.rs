//! How connections to Redis and Sentinel use TLS.

use crate::config::url_parts::{decoded, file_text, write_parameters};
use std::fmt;
use std::path::PathBuf;

/// How TLS is used, to Sentinel too. The names are those of a PostgreSQL URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisTls {
    /// `sslrootcert`: a PEM file of the authorities that are trusted instead of the system's.
    pub root: Option<PathBuf>,
    /// `sslcert` and `sslkey`: PEM files of the client's own certificate and its private key.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl RedisTls {
    /// From the parameters of a URL, without their `?`; `None` if they are none of these.
    pub fn of_query(query: &str) -> Option<RedisTls> {
        let (mut root, mut certificate, mut key) = (None, None, None);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let file = match name {
                "sslrootcert" => &mut root,
                "sslcert" => &mut certificate,
                "sslkey" => &mut key,
                _ => return None,
            };
            *file = Some(PathBuf::from(decoded(value)));
        }
        if certificate.is_some() != key.is_some() {
            return None;
        }
        let root = root.filter(|root| root.as_os_str() != "system");
        Some(RedisTls { root, own: certificate.zip(key) })
    }
}

/// As the parameters of a URL, with their `?`; nothing if there are none.
impl fmt::Display for RedisTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.as_ref();
        let parameters = [
            ("sslrootcert", file_text(self.root.as_ref())),
            ("sslcert", file_text(own.map(|(certificate, _)| certificate))),
            ("sslkey", file_text(own.map(|(_, key)| key))),
        ];
        write_parameters(f, parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_files_are_read_and_shown() {
        let tls = |query| RedisTls::of_query(query);
        assert_eq!(tls(""), Some(RedisTls::default()));
        assert_eq!(tls("sslrootcert=system"), Some(RedisTls::default()));
        let all = tls("sslrootcert=%2Fca.pem&sslcert=a%20b.pem&sslkey=key.pem").unwrap();
        let own = Some(("a b.pem".into(), "key.pem".into()));
        assert_eq!(all, RedisTls { root: Some("/ca.pem".into()), own });
        assert_eq!(all.to_string(), "?sslrootcert=/ca.pem&sslcert=a b.pem&sslkey=key.pem");
        for refused in ["sslcert=a.pem", "sslkey=a.pem", "protocol=resp3", "sslmode=disable"] {
            assert_eq!(tls(refused), None, "{refused}");
        }
    }
}
