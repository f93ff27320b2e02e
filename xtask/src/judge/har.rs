//! The requests and responses of schemathesis, from its report in HAR format.

use anyhow::Context;
use serde_json::Value;
use std::path::Path;

/// One request and the status of its response.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The URL without its query.
    pub url: String,
    /// The status of the response.
    pub status: u64,
}

impl Exchange {
    /// The id below a path, if it is the only segment there and not percent-encoded.
    pub fn id_below(&self, path: &str) -> Option<&str> {
        let (_, id) = self.url.split_once(path)?;
        (!id.is_empty() && !id.contains(['/', '%'])).then_some(id)
    }
}

/// Every exchange of a report.
pub fn exchanges(path: &Path) -> anyhow::Result<Vec<Exchange>> {
    let text = std::fs::read_to_string(path).context("schemathesis wrote no report")?;
    let report: Value = serde_json::from_str(&text).context("its report is not JSON")?;
    let entries = report.pointer("/log/entries").and_then(Value::as_array);
    let entries = entries.context("its report has no entries")?;
    Ok(entries.iter().filter_map(exchange).collect())
}

fn exchange(entry: &Value) -> Option<Exchange> {
    let url = entry.pointer("/request/url")?.as_str()?;
    Some(Exchange {
        method: entry.pointer("/request/method")?.as_str()?.to_string(),
        url: url.split(['?', '#']).next().unwrap_or(url).to_string(),
        status: entry.pointer("/response/status")?.as_u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_single_plain_segment() {
        for (below, id) in
            [("7", Some("7")), ("x", Some("x")), ("", None), ("7/8", None), ("%2B7", None)]
        {
            let url = format!("http://h/v1/pets/{below}");
            let exchange = Exchange { method: "GET".to_string(), url, status: 200 };
            assert_eq!(exchange.id_below("/v1/pets/"), id, "{below}");
        }
    }

    #[test]
    fn a_report_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.har");
        let text = r#"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/v1/pets/1?x=2"},
                       "response":{"status":404}}]}}"#;
        std::fs::write(&path, text).unwrap();
        let exchanges = exchanges(&path).unwrap();
        assert_eq!(exchanges.len(), 1);
        assert_eq!((exchanges[0].url.as_str(), exchanges[0].status), ("http://h/v1/pets/1", 404));
    }
}
