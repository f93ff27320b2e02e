//! Redacts passwords in errors that repeat user input, and in the settings that `config show`
//! prints.

/// Replaces passwords with `***`. In each URL, the password ends at the last `@` before the next
/// URL or the end of the text, because a password may contain spaces, quotes and `@`. Everything
/// after the first `password=` is replaced.
pub fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(SCHEME_END) {
        let end = next_url(after).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        shown.push_str(before);
        shown.push_str(SCHEME_END);
        shown.push_str(&without_password(url));
        rest = behind;
    }
    shown.push_str(rest);
    match shown.split_once("password=") {
        Some((before, _)) => format!("{before}password=***"),
        None => shown,
    }
}

const SCHEME_END: &str = "://";

const URL_STARTS: [&str; 4] = ["postgres://", "postgresql://", "http://", "https://"];

/// Looks only for known schemes, because `://` may also be part of a password.
fn next_url(text: &str) -> Option<usize> {
    URL_STARTS.iter().filter_map(|scheme| text.find(scheme)).min()
}

/// Hides the password in a URL. `url` is the part after the scheme and `://`.
fn without_password(url: &str) -> String {
    match (url.split_once(':'), url.rsplit_once('@')) {
        (Some((user, password)), Some((_, place))) if password.contains('@') => {
            format!("{user}:***@{place}")
        }
        _ => url.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passwords_are_hidden() {
        for (text, shown) in [
            ("no URL at all: a@b", "no URL at all: a@b"),
            ("'postgres://u:s:e@c@a/d' is bad", "'postgres://u:***@a/d' is bad"),
            ("\"postgres://u:it's se?c\"ret@a/d\" is bad", "\"postgres://u:***@a/d\" is bad"),
            ("postgres://u@a/d?x=1&password=secret", "postgres://u@a/d?x=1&password=***"),
            ("postgres://u@a/d?sslpassword=it's", "postgres://u@a/d?sslpassword=***"),
            ("a://u:1@h http://u:2@h", "a://u:***@h http://u:***@h"),
            ("a://u:b://c@h", "a://u:***@h"),
            ("write postgres://USER@HOST/DATABASE", "write postgres://USER@HOST/DATABASE"),
            ("store postgres://u@a:5432/d: refused", "store postgres://u@a:5432/d: refused"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
