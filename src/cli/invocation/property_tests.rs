//! Property tests: no printed text contains the password of a store's URL, even if the URL is
//! invalid.

use super::*;
use crate::config::without_passwords;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Store URLs, in which `P` stands for the password.
const URLS: [&str; 12] = [
    "postgres://u:P@db/orders",
    "postgresql://:P@a,b:6000/orders?sslmode=require",
    "postgres://u:P@db:port/orders",
    "postgres://u:P@db/orders?colour=red",
    "postgres://u:P@",
    "postgres://db/orders?user=u&password=P",
    "postgres://db/orders?sslpassword=P",
    "postgres://db/orders?sslmode=require&user=u&password=P",
    "postgres://u:P@db/orders?sslrootcert=/a@b.pem",
    "postgres://db/orders?password=P&sslmode=on",
    "mysql://u:P@db/orders",
    "u:P@db/orders",
];

fn printed_text(url: &str) -> String {
    let flagged = format!("--store={url}");
    let arguments = ["store-orders", "config", "show", &flagged].map(OsString::from);
    // The JSON strings of these URLs are also valid TOML strings.
    let file = format!("store = {}\n", serde_json::to_string(url).unwrap());
    let mut printed = match Invocation::read(arguments) {
        Ok(invocation) => serde_json::to_string(invocation.effective.settings()).unwrap(),
        Err(InvocationError::CommandLine(error)) => {
            format!("{}\n{}", error.render(), wrong_value(&error).unwrap())
        }
        Err(InvocationError::Settings(error)) => panic!("{error}"),
    };
    if let Err(error) = ConfigFile::parse(Path::new("a.toml"), &file) {
        printed.push_str(&error.to_string());
    }
    printed
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn no_password_is_printed(
        password in "[ -~\u{e4}\u{df}\u{4e2d}\u{1f511}]{4,24}",
        encodes in any::<bool>(),
        chosen in 0..URLS.len(),
    ) {
        let pattern = URLS[chosen];
        let encoded = if encodes { percent_encoded(&password) } else { password.clone() };
        let text = printed_text(&pattern.replace('P', &encoded));
        // Text that is also printed for another password reveals nothing about this one.
        let harmless = printed_text(&pattern.replace('P', "%00"));
        for secret in [&password, &encoded] {
            let escaped = secret.escape_debug().to_string();
            for secret in [secret, &escaped] {
                let leaks = text.contains(secret) && !harmless.contains(secret);
                prop_assert!(!leaks, "{text}");
            }
        }
    }

    #[test]
    fn a_url_in_the_wrong_place_is_printed_without_its_password(
        password in "[ -9;-~]{4,24}",
        chosen in any::<Index>(),
    ) {
        let urls: Vec<_> = URLS.iter().filter(|pattern| pattern.contains("://")).collect();
        let pattern = chosen.get(&urls);
        let url = pattern.replace('P', &password);
        let text = format!("unexpected argument '{url}' found");
        let harmless = format!("unexpected argument '{}' found", pattern.replace('P', "***"));
        prop_assume!(!harmless.contains(&password));
        prop_assert!(!without_passwords(&text).contains(&password));
    }
}
