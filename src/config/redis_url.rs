//! The address of the Redis that counts requests.

mod tls;

pub use tls::RedisTls;

use super::url_parts::{decoded, write_user};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The port that Sentinel listens on by default.
const SENTINEL_PORT: u16 = 26379;

/// A `redis://` URL of one primary, or a `redis+sentinel://` URL of the Sentinels that know
/// it; `rediss` in either for TLS.
#[derive(Clone)]
pub struct RedisUrl(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    place: RedisPlace,
    /// User, password and database of the primary.
    settings: RedisConnectionInfo,
    tls: Option<RedisTls>,
}

/// Where the primary is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisPlace {
    /// At this address.
    Primary(RedisNode),
    /// Where Sentinel says.
    Sentinels {
        /// The Sentinels, of which one that answers is enough.
        nodes: Vec<RedisNode>,
        /// The name that they have for the primary.
        service: String,
    },
}

/// A host, by name or by its IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisNode {
    /// Without brackets around an IPv6 address.
    pub host: String,
    /// A TCP port.
    pub port: u16,
}

/// Why a text is not such a URL. It does not repeat the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedisUrl {
    /// It has another scheme, or none.
    #[error(
        "write redis://HOST:PORT, or redis+sentinel://HOST:PORT,HOST:PORT/SERVICE; with TLS \
             rediss://, or rediss+sentinel://"
    )]
    Scheme,
    /// TLS without a check of the certificate is not offered.
    #[error("nothing may follow # in the URL: certificates are always checked")]
    Insecure,
    /// It has the scheme but not the form.
    #[error("write redis://USER@HOST:PORT/DATABASE, of which HOST alone is needed")]
    Form,
    /// It names Sentinels in another form.
    #[error(
        "write redis+sentinel://USER@HOST:PORT,HOST:PORT/SERVICE/DATABASE, of which one HOST \
             and SERVICE, the primary's name in Sentinel, are needed"
    )]
    SentinelForm,
    /// There is no such parameter.
    #[error(
        "after ? there can be sslrootcert=FILE, and sslcert=FILE with sslkey=FILE, in a \
             rediss:// URL"
    )]
    Parameter,
}

impl RedisUrl {
    /// Where the primary is.
    pub fn place(&self) -> &RedisPlace {
        &self.0.place
    }

    /// How TLS is used, if it is.
    pub fn tls(&self) -> Option<&RedisTls> {
        self.0.tls.as_ref()
    }

    /// User, password and database of the primary.
    pub fn settings(&self) -> &RedisConnectionInfo {
        &self.0.settings
    }

    /// The same, with this password unless the URL has one.
    #[must_use]
    pub fn or_password(self, password: &str) -> RedisUrl {
        if self.0.settings.password().is_some() {
            return self;
        }
        let settings = self.0.settings.clone().set_password(password);
        RedisUrl(Arc::new(Parts { settings, ..Parts::clone(&self.0) }))
    }
}

impl FromStr for RedisUrl {
    type Err = InvalidRedisUrl;

    fn from_str(text: &str) -> Result<RedisUrl, InvalidRedisUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidRedisUrl::Scheme)?;
        let (has_tls, has_sentinels) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "redis+sentinel" => (false, true),
            "rediss+sentinel" => (true, true),
            _ => return Err(InvalidRedisUrl::Scheme),
        };
        if rest.contains('#') {
            return Err(InvalidRedisUrl::Insecure);
        }
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        // Or a piece of the password would be taken for the name of a service.
        if address.split_once('/').is_some_and(|(_, path)| path.contains('@')) {
            return Err(if has_sentinels {
                InvalidRedisUrl::SentinelForm
            } else {
                InvalidRedisUrl::Form
            });
        }
        let tls = RedisTls::of_query(query).ok_or(InvalidRedisUrl::Parameter)?;
        if tls != RedisTls::default() && !has_tls {
            return Err(InvalidRedisUrl::Parameter);
        }
        let (place, settings) = if has_sentinels { sentinels(address) } else { primary(address) }?;
        Ok(RedisUrl(Arc::new(Parts { place, settings, tls: has_tls.then_some(tls) })))
    }
}

fn primary(address: &str) -> Result<(RedisPlace, RedisConnectionInfo), InvalidRedisUrl> {
    let (node, settings) = node(address).ok_or(InvalidRedisUrl::Form)?;
    Ok((RedisPlace::Primary(node), settings))
}

fn sentinels(address: &str) -> Result<(RedisPlace, RedisConnectionInfo), InvalidRedisUrl> {
    let parse = || {
        let (authority, path) = address.split_once('/')?;
        let (service, database) = path.split_once('/').unwrap_or((path, ""));
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (mut nodes, mut settings) = (Vec::new(), None);
        for host in hosts.split(',') {
            let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
            let port = if has_port { String::new() } else { format!(":{SENTINEL_PORT}") };
            let (node, of_primary) = node(&format!("{user}@{host}{port}/{database}"))?;
            nodes.push(node);
            settings = Some(of_primary);
        }
        let service = decoded(service);
        if service.is_empty() {
            return None;
        }
        Some((RedisPlace::Sentinels { nodes, service }, settings?))
    };
    parse().ok_or(InvalidRedisUrl::SentinelForm)
}

/// One host with what stands around it, as a `redis://` URL has it after its scheme.
fn node(address: &str) -> Option<(RedisNode, RedisConnectionInfo)> {
    let info: ConnectionInfo = format!("redis://{address}").into_connection_info().ok()?;
    let ConnectionAddr::Tcp(host, port) = info.addr().clone() else { return None };
    let is_one = !host.is_empty() && !host.contains(',');
    is_one.then(|| (RedisNode { host, port }, info.redis_settings().clone()))
}

impl fmt::Display for RedisNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            host if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Without the password. The alternate form, `{:#}`, says that there is one, and how TLS is
/// used.
impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { place, settings, tls } = &*self.0;
        let scheme = if tls.is_some() { "rediss" } else { "redis" };
        let (suffix, nodes, service) = match place {
            RedisPlace::Primary(node) => ("", std::slice::from_ref(node), None),
            RedisPlace::Sentinels { nodes, service } => ("+sentinel", &nodes[..], Some(service)),
        };
        write!(f, "{scheme}{suffix}://")?;
        let shows_password = f.alternate() && settings.password().is_some();
        write_user(f, settings.username(), shows_password)?;
        for (number, node) in nodes.iter().enumerate() {
            write!(f, "{}{node}", if number == 0 { "" } else { "," })?;
        }
        if let Some(service) = service {
            write!(f, "/{service}")?;
        }
        match settings.db() {
            0 => {}
            database => write!(f, "/{database}")?,
        }
        match tls {
            Some(tls) if f.alternate() => write!(f, "{tls}"),
            _ => Ok(()),
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
            ("rediss://a?sslrootcert=%2Fca.pem", "rediss://a:6379"),
            ("redis://[::1]:7000", "redis://[::1]:7000"),
            ("redis+sentinel://a/orders", "redis+sentinel://a:26379/orders"),
            (
                "rediss+sentinel://limits:hunter2@a:1,[::1],c/orders/3",
                "rediss+sentinel://limits@a:1,[::1]:26379,c:26379/orders/3",
            ),
        ] {
            let url: RedisUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?} {:?}", url.settings()).contains("hunter2"));
            assert_eq!(shown.parse::<RedisUrl>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn the_alternate_form_has_what_is_set() {
        for text in [
            "redis://:***@a:6379",
            "redis://limits@a:6379/3",
            "rediss+sentinel://limits:***@a:1,b:2/orders/3?sslrootcert=/r.pem",
            "rediss://a:6379?sslcert=/c.pem&sslkey=/k.pem",
        ] {
            assert_eq!(format!("{:#}", text.parse::<RedisUrl>().unwrap()), text);
        }
    }

    #[test]
    fn the_password_of_the_url_comes_first() {
        let password = |text: &str| {
            let url = text.parse::<RedisUrl>().unwrap().or_password("from the file");
            url.settings().password().unwrap().to_string()
        };
        assert_eq!(password("redis://:own@localhost"), "own");
        assert_eq!(password("redis+sentinel://:own@a,b/orders"), "own");
        assert_eq!(password("redis://localhost"), "from the file");
    }

    #[test]
    fn tls_is_used_where_the_scheme_says_so() {
        let tls = |text: &str| text.parse::<RedisUrl>().unwrap().tls().cloned();
        assert_eq!(tls("redis://a"), None);
        assert_eq!(tls("rediss://a?sslrootcert=system"), Some(RedisTls::default()));
        let root = Some("/ca.pem".into());
        let expected = RedisTls { root, ..RedisTls::default() };
        assert_eq!(tls("rediss://a/2?sslrootcert=%2Fca.pem"), Some(expected));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (text, why) in [
            ("local", InvalidRedisUrl::Scheme),
            ("localhost:6379", InvalidRedisUrl::Scheme),
            ("unix:///run/redis", InvalidRedisUrl::Scheme),
            ("rediss://localhost#insecure", InvalidRedisUrl::Insecure),
            ("redis://", InvalidRedisUrl::Form),
            ("redis://localhost:port", InvalidRedisUrl::Form),
            ("redis://localhost/name", InvalidRedisUrl::Form),
            ("redis://a,b", InvalidRedisUrl::Form),
            ("redis+sentinel://localhost", InvalidRedisUrl::SentinelForm),
            ("redis+sentinel://localhost/", InvalidRedisUrl::SentinelForm),
            ("redis+sentinel://a,/orders", InvalidRedisUrl::SentinelForm),
            ("redis+sentinel:///orders", InvalidRedisUrl::SentinelForm),
            ("redis+sentinel://a/orders/two", InvalidRedisUrl::SentinelForm),
            ("redis+sentinel://u:12/secret@a", InvalidRedisUrl::SentinelForm),
            ("redis://u:12/secret@a", InvalidRedisUrl::Form),
            ("redis://a?sslrootcert=ca.pem", InvalidRedisUrl::Parameter),
            ("rediss://a?sslcert=a.pem", InvalidRedisUrl::Parameter),
            ("rediss://a?protocol=resp3", InvalidRedisUrl::Parameter),
        ] {
            assert_eq!(text.parse::<RedisUrl>().unwrap_err(), why, "{text}");
        }
    }
}
