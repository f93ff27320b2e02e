//! The address of a Redis.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A `redis://` or `rediss://` URL: host, port, user, password and database.
#[derive(Clone)]
pub struct RedisUrl(Arc<ConnectionInfo>);

/// Why a text is not such a URL. It does not repeat the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedisUrl {
    /// It has another scheme, or none.
    #[error("write redis://HOST:PORT, or rediss:// with TLS")]
    Scheme,
    /// TLS without a check of the certificate is not offered.
    #[error("nothing may follow # in the URL: certificates are always checked")]
    Insecure,
    /// It has the scheme but not the form.
    #[error("write redis://USER@HOST:PORT/DATABASE, of which HOST alone is needed")]
    Form,
}

impl RedisUrl {
    /// What a client connects with.
    pub fn connection_info(&self) -> ConnectionInfo {
        let tcp = self.0.tcp_settings().clone().set_nodelay(true);
        ConnectionInfo::clone(&self.0).set_tcp_settings(tcp)
    }

    /// The same, with this password unless the URL has one.
    #[must_use]
    pub fn or_password(self, password: &str) -> RedisUrl {
        if self.0.redis_settings().password().is_some() {
            return self;
        }
        let settings = self.0.redis_settings().clone().set_password(password);
        RedisUrl(Arc::new(ConnectionInfo::clone(&self.0).set_redis_settings(settings)))
    }
}

impl FromStr for RedisUrl {
    type Err = InvalidRedisUrl;

    fn from_str(text: &str) -> Result<RedisUrl, InvalidRedisUrl> {
        if !text.starts_with("redis://") && !text.starts_with("rediss://") {
            return Err(InvalidRedisUrl::Scheme);
        }
        if text.contains('#') {
            return Err(InvalidRedisUrl::Insecure);
        }
        let info = text.into_connection_info().map_err(|_| InvalidRedisUrl::Form)?;
        Ok(RedisUrl(Arc::new(info)))
    }
}

/// Without the password.
impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_tls = matches!(self.0.addr(), ConnectionAddr::TcpTls { .. });
        f.write_str(if has_tls { "rediss://" } else { "redis://" })?;
        if let Some(user) = self.0.redis_settings().username() {
            write!(f, "{user}@")?;
        }
        match self.0.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }
                if host.contains(':') =>
            {
                write!(f, "[{host}]:{port}")?;
            }
            address => write!(f, "{address}")?,
        }
        match self.0.redis_settings().db() {
            0 => Ok(()),
            database => write!(f, "/{database}"),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (text, shown) in [
            ("redis://localhost", "redis://localhost:6379"),
            ("redis://:hunter2@10.0.0.1:7000/3", "redis://10.0.0.1:7000/3"),
            ("rediss://limits:hunter2@redis.example", "rediss://limits@redis.example:6379"),
            ("redis://[::1]:7000", "redis://[::1]:7000"),
        ] {
            let url: RedisUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("hunter2"));
            assert_eq!(shown.parse::<RedisUrl>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn the_password_of_the_url_comes_first() {
        let password = |text: &str| {
            let url = text.parse::<RedisUrl>().unwrap().or_password("from the file");
            url.connection_info().redis_settings().password().unwrap().to_string()
        };
        assert_eq!(password("redis://:own@localhost"), "own");
        assert_eq!(password("redis://localhost"), "from the file");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (text, why) in [
            ("local", InvalidRedisUrl::Scheme),
            ("localhost:6379", InvalidRedisUrl::Scheme),
            ("redis+sentinel://localhost", InvalidRedisUrl::Scheme),
            ("rediss://localhost#insecure", InvalidRedisUrl::Insecure),
            ("redis://", InvalidRedisUrl::Form),
            ("redis://localhost:port", InvalidRedisUrl::Form),
            ("redis://localhost/name", InvalidRedisUrl::Form),
        ] {
            assert_eq!(text.parse::<RedisUrl>().unwrap_err(), why, "{text}");
        }
    }
}
