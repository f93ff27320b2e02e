//! What the browser did behind the page: the requests that it sent, and what
//! it wrote to the console.

use serde_json::Value;

/// The logs of one session.
#[derive(Debug, Default)]
pub struct Watched {
    /// Where requests went.
    pub requests: Vec<String>,
    /// Errors in the console.
    pub errors: Vec<String>,
}

impl Watched {
    /// Reads chromedriver's logs: `performance` holds DevTools events as text,
    /// `browser` the lines of the console.
    pub fn of(performance: &Value, browser: &Value) -> Watched {
        let entries = |log: &Value| log.as_array().cloned().unwrap_or_default();
        let requests = entries(performance).iter().filter_map(request).collect();
        let errors = entries(browser)
            .iter()
            .filter(|entry| entry.get("level").and_then(Value::as_str) == Some("SEVERE"))
            .map(|entry| entry.get("message").and_then(Value::as_str).unwrap_or("?").to_string())
            .collect();
        Watched { requests, errors }
    }

    /// What is wrong with it on pages of this server.
    pub fn findings(&self, origin: &str) -> Vec<String> {
        let own = format!("{origin}/");
        // None of these leaves the browser; chrome: is its own empty page.
        let stays = |url: &&String| {
            [own.as_str(), "data:", "blob:", "chrome:"].iter().any(|kind| url.starts_with(kind))
        };
        let foreign = self.requests.iter().filter(|url| !stays(url));
        let mut findings: Vec<String> =
            foreign.map(|url| format!("a request left the server: {url}")).collect();
        findings.extend(self.errors.iter().map(|error| format!("console: {error}")));
        if !self.requests.iter().any(|url| url.starts_with(&own)) {
            findings.push("the browser's log holds no request: nothing was watched".to_string());
        }
        findings
    }
}

/// The address of the request that this entry tells of.
fn request(entry: &Value) -> Option<String> {
    let event: Value = serde_json::from_str(entry.get("message")?.as_str()?).ok()?;
    let event = event.get("message")?;
    let url = match event.get("method")?.as_str()? {
        "Network.requestWillBeSent" => event.pointer("/params/request/url"),
        "Network.webSocketCreated" | "Network.webTransportCreated" => event.pointer("/params/url"),
        _ => None,
    };
    Some(url?.as_str()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(method: &str, params: &Value) -> Value {
        let text = json!({"message": {"method": method, "params": params}, "webview": "1"});
        json!({"level": "INFO", "message": text.to_string()})
    }

    fn sent(url: &str) -> Value {
        event("Network.requestWillBeSent", &json!({"request": {"url": url}}))
    }

    #[test]
    fn requests_to_the_server_and_quiet_lines_are_no_finding() {
        let performance = json!([sent("http://127.0.0.1:1/docs"), sent("data:,"), sent("blob:x")]);
        let browser = json!([{"level": "INFO", "message": "hello"}]);
        let watched = Watched::of(&performance, &browser);
        assert_eq!(watched.requests.len(), 3);
        assert!(watched.findings("http://127.0.0.1:1").is_empty());
    }

    #[test]
    fn whatever_leaves_the_server_is_found() {
        let own = sent("http://127.0.0.1:1/docs");
        for foreign in [
            sent("https://fonts.example/inter.woff2"),
            sent("http://127.0.0.1:10/docs"),
            sent("https://127.0.0.1:1/docs"),
            event("Network.webSocketCreated", &json!({"url": "wss://chat.example/"})),
        ] {
            let findings = Watched::of(&json!([own, foreign]), &json!([]));
            assert_eq!(findings.findings("http://127.0.0.1:1").len(), 1, "{foreign}");
        }
    }

    #[test]
    fn an_error_in_the_console_is_found_and_so_is_an_empty_log() {
        let browser = json!([{"level": "SEVERE", "message": "refused by the policy"}]);
        let watched = Watched::of(&json!([sent("http://h/")]), &browser);
        assert_eq!(watched.findings("http://h"), ["console: refused by the policy"]);
        assert_eq!(Watched::default().findings("http://h").len(), 1);
    }
}
