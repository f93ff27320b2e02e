//! Settings of the served API document: the API's addresses, and the operator's contact.

use clap::Args;
use std::fmt;
use std::str::FromStr;
use store_orders_api::BASE_PATH;

/// The operator's URLs and contact in the served OpenAPI document.
#[derive(Args, Clone, Debug, Default)]
pub struct DocumentSettings {
    /// Address of the production API that the served document names, such as
    /// https://orders.example.com/v1
    #[arg(long, value_name = "URL", env)]
    pub production_url: Option<BaseUrl>,
    /// Address of the staging API that the served document names, such as
    /// https://orders-staging.example.com/v1
    #[arg(long, value_name = "URL", env)]
    pub staging_url: Option<BaseUrl>,
    /// Name of the service's operator; the served document contains it
    #[arg(long, value_name = "NAME", env, value_parser = parse_name)]
    pub contact_name: Option<String>,
    /// Page where users find help; the served document links to it
    #[arg(long, value_name = "URL", env, value_parser = parse_url)]
    pub contact_url: Option<String>,
    /// E-mail address for users' questions; the served document contains it
    #[arg(long, value_name = "ADDRESS", env, value_parser = parse_email)]
    pub contact_email: Option<String>,
}

/// The `http` or `https` URL of a host, followed by the base path. No other path may precede the
/// base path, because links start at the host's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<BaseUrl, String> {
        let example = format!("write an address such as https://orders.example.com{BASE_PATH}");
        let is_url = parse_url(text).is_ok_and(|url| !url.contains(['?', '#', '@']));
        if !is_url || !text.ends_with(BASE_PATH) {
            return Err(example);
        }
        // Two slashes belong to the scheme, and the third ends the host.
        match text.matches('/').count() {
            3 => Ok(BaseUrl(text.to_string())),
            _ => Err(format!(
                "no path may stand before {BASE_PATH}, because links and assets begin at the root \
                 of the host; {example}"
            )),
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let is_name = !name.is_empty() && !name.contains(char::is_control);
    is_name.then(|| name.to_string()).ok_or_else(|| "write a name".to_string())
}

fn parse_url(text: &str) -> Result<String, String> {
    let url: Option<http::Uri> = text.parse().ok();
    let is_page = url.is_some_and(|url| {
        ["http", "https"].map(Some).contains(&url.scheme_str())
            && url.host().is_some_and(|host| !host.is_empty())
    });
    is_page
        .then(|| text.to_string())
        .ok_or_else(|| "write an address such as https://example.com/support".to_string())
}

fn parse_email(text: &str) -> Result<String, String> {
    let is_address = text.rsplit_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !text.contains([' ', ',', '<', '>'])
    });
    is_address
        .then(|| text.to_string())
        .ok_or_else(|| "write an address such as support@example.com".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_must_end_in_the_base_path() {
        for url in ["https://a.example/v1", "http://localhost:8080/v1"] {
            assert_eq!(url.parse::<BaseUrl>().unwrap().to_string(), url);
        }
        for url in [
            "https://a.example",
            "https://a.example/v1/",
            "https://a.example/v2",
            "a.example/v1",
            "/v1",
            "ftp://a.example/v1",
            "https://user@a.example/v1",
            "https://a.example/?/v1",
        ] {
            assert!(url.parse::<BaseUrl>().is_err(), "{url}");
        }
    }

    #[test]
    fn a_path_before_the_base_path_is_refused_with_the_reason() {
        for url in ["https://a.example/orders/v1", "https://a.example//v1", "http://a/v1/v1"] {
            let error = url.parse::<BaseUrl>().unwrap_err();
            assert!(error.starts_with("no path may stand before /v1, because"), "{error}");
            assert!(error.ends_with("such as https://orders.example.com/v1"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn contacts_are_checked() {
        assert!(
            parse_email("support@example.com").is_ok()
                && parse_name(" Store ").as_deref() == Ok("Store")
        );
        assert!(parse_url("https://example.com/help?topic=keys").is_ok());
        for wrong in ["", "support", "@example.com", "a@", "A <a@example.com>"] {
            assert!(parse_email(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "example.com", "mailto:a@example.com", "https://"] {
            assert!(parse_url(wrong).is_err(), "{wrong}");
        }
        assert!(parse_name(" ").is_err());
    }
}
