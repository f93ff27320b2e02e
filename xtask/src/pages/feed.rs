//! Renders the releases in `CHANGELOG.md` as an Atom feed (RFC 4287).

use super::changelog::Release;
use super::markdown::markup;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use uuid::Builder;

/// Renders the feed. Its URLs are relative, because the server's address is not known when the feed
/// is generated.
pub fn feed(releases: &[Release<'_>]) -> String {
    let updated = releases.iter().map(Release::timestamp).max().unwrap_or_default();
    let id = id("the changelog of the Store Orders API");
    let mut feed = format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>{id}</id>
<title>Changelog of the Store Orders API</title>
<updated>{updated}</updated>
<author><name>Store Orders</name></author>
<icon>/favicon.ico</icon>
<link rel="self" type="application/atom+xml" href="/changelog.atom"/>
<link rel="alternate" type="text/html" href="/changelog"/>
"#
    );
    for release in releases {
        let _ = write!(feed, "{}", entry(release));
    }
    feed.push_str("</feed>\n");
    feed
}

fn entry(release: &Release<'_>) -> String {
    let version = &release.version;
    format!(
        r#"<entry>
<id>{}</id>
<title>Store Orders API {version}</title>
<updated>{}</updated>
<link rel="alternate" type="text/html" href="/changelog#{version}"/>
<content type="html" xml:base="/changelog">{}</content>
</entry>
"#,
        id(&format!("version {version} of the Store Orders API")),
        release.timestamp(),
        escape(&markup(release.text)),
    )
}

/// Derives a stable id from a name: its hash as a UUID of version 8 (RFC 9562, 5.8).
fn id(name: &str) -> String {
    let digest = Sha256::digest(name);
    let bytes = digest.first_chunk().copied().unwrap_or_default();
    Builder::from_custom_bytes(bytes).into_uuid().urn().to_string()
}

/// Escapes text for the content of an element.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_derived_from_its_name() {
        let first = id("a");
        assert_eq!(first, id("a"));
        assert_ne!(first, id("b"));
        let groups: Vec<_> = first.strip_prefix("urn:uuid:").unwrap().split('-').collect();
        assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(groups[2].starts_with('8') && groups[3].starts_with(['8', '9', 'a', 'b']));
    }

    #[test]
    fn markup_is_escaped_in_the_feed() {
        assert_eq!(escape("<p>a &lt; b</p>"), "&lt;p&gt;a &amp;lt; b&lt;/p&gt;");
    }
}
