//! The two text formats of metrics, and which of them a scrape takes.

use crate::http::weighted;
use http::HeaderMap;
use http::header::ACCEPT;

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, which every tool reads.
    Text,
}

impl Format {
    /// OpenMetrics for those who ask for it at least as much as for text (RFC 9110, 12.5.1).
    pub fn accepted(headers: &HeaderMap) -> Format {
        let (mut open_metrics, mut text) = (0.0_f32, 0.0_f32);
        for (range, weight) in weighted(headers, ACCEPT) {
            match range {
                "application/openmetrics-text" => open_metrics = open_metrics.max(weight),
                "text/plain" => text = text.max(weight),
                _ => {}
            }
        }
        if open_metrics > 0.0 && open_metrics >= text { Format::OpenMetrics } else { Format::Text }
    }

    /// The `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// These metrics, given in OpenMetrics, in this format.
    pub fn of(self, open_metrics: String) -> String {
        match self {
            Format::OpenMetrics => open_metrics,
            Format::Text => text(&open_metrics),
        }
    }
}

/// There is no unit and no end in version 0.0.4, a counter is named as its sample is, and
/// what describes the program is a gauge.
fn text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
            continue;
        }
        let described = line.strip_prefix("# TYPE ").and_then(|typed| typed.split_once(' '));
        let Some((name, kind)) = described else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let (suffix, kind) = match kind {
            "counter" => ("_total", "counter"),
            "info" => ("_info", "gauge"),
            "unknown" => ("", "untyped"),
            kind => ("", kind),
        };
        if let Some((_, help)) = help.take() {
            text.push_str(&format!("# HELP {name}{suffix} {help}\n"));
        }
        text.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_sent_to_those_who_prefer_it() {
        let of_prometheus = "application/openmetrics-text;version=1.0.0,\
             application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,\
             */*;q=0.1";
        for (accept, expected) in [
            (of_prometheus, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("text/plain, application/openmetrics-text", Format::OpenMetrics),
            ("*/*", Format::Text),
            ("text/html, */*;q=0.8", Format::Text),
            ("text/plain;version=0.0.4", Format::Text),
            ("application/openmetrics-text;q=0.3, text/plain;q=0.5", Format::Text),
            ("application/openmetrics-text;Q=0.3, text/plain", Format::Text),
            ("application/openmetrics-text;q=0", Format::Text),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(Format::accepted(&headers), expected, "{accept}");
        }
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Text);
    }

    #[test]
    fn the_text_format_has_no_units_and_names_counters_as_their_samples() {
        let open_metrics = "\
# HELP build The program.
# TYPE build info
build_info{version=\"1\"} 1
# HELP requests Requests.
# TYPE requests counter
requests_total{code=\"200\"} 3
# HELP latency_seconds Time.
# TYPE latency_seconds histogram
# UNIT latency_seconds seconds
latency_seconds_sum 0.5
# EOF
";
        let expected = "\
# HELP build_info The program.
# TYPE build_info gauge
build_info{version=\"1\"} 1
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code=\"200\"} 3
# HELP latency_seconds Time.
# TYPE latency_seconds histogram
latency_seconds_sum 0.5
";
        assert_eq!(Format::Text.of(open_metrics.to_string()), expected);
        assert_eq!(Format::OpenMetrics.of(open_metrics.to_string()), open_metrics);
    }
}
