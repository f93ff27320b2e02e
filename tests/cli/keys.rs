//! `keys`.

use serde_json::{Value, json};
use std::process::Stdio;
use store_orders::keys::{Environment, digest_of};
use store_orders::store::KeyCommands;
use testbed::CliSandbox;

pub fn issued(sandbox: &CliSandbox, arguments: &[&str]) -> (String, String) {
    let all = [&["keys"], arguments, &["--json"]].concat();
    let Value::Object(issued) = sandbox.run(&all).json() else { panic!("no object") };
    let fields = ["key", "id", "account", "environment", "state", "issuedAt"];
    assert!(fields.iter().all(|field| issued.contains_key(*field)), "a field is missing");
    let text = |name: &str| issued[name].as_str().unwrap().to_string();
    (text("id"), text("key"))
}

#[test]
fn a_key_in_hand_is_found_and_never_printed() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let (id, key) = issued(&sandbox, &["issue", "--account", "acme", "--environment", "staging"]);
    let find = |input: &str| sandbox.run_with_input(&["keys", "find", "-"], input.as_bytes());
    for input in [key.clone(), format!("  {key}\r\n"), format!("{key}\nmore")] {
        let text = find(&input).done();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("id           {id}"));
        assert_eq!(
            lines[1..4].join(","),
            "account      acme,environment  staging,state        active"
        );
        assert!(!text.contains("sto_") && !text.contains(&key[15..]), "a key is shown");
    }
    sandbox.run(&["keys", "revoke", &id]).done();
    let json = sandbox.run_with_input(&["keys", "find", "-", "--json"], key.as_bytes()).json();
    assert_eq!((&json["id"], &json["state"]), (&json!(id), &json!("revoked")));

    let other = CliSandbox::new();
    other.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let unknown = other.run_with_input(&["keys", "find", "-"], key.as_bytes()).missing();
    assert!(unknown.starts_with("the store knows no such key"), "{unknown}");
    let swapped = key.replace(&key[20..21], if &key[20..21] == "a" { "b" } else { "a" });
    for input in [swapped.as_str(), &key[..20], "", "\n", &format!("Bearer {key}"), "\u{1b}[31m"] {
        let error = find(input).error();
        let known =
            ["there is no key on the first line", "the first line of standard input is not"];
        assert!(known.iter().any(|start| error.starts_with(start)), "another error");
        assert!(!error.contains(&key[9..20]) && !error.contains('\u{1b}'), "a key is shown");
    }
    let usage = sandbox.run(&["keys", "find", &key]).usage();
    assert!(usage.contains("is read from standard input") && !usage.contains(&key[9..]), "{usage}");
}

#[test]
fn keys_are_listed_by_account_and_state() {
    let sandbox = CliSandbox::new();
    for name in ["acme", "globex"] {
        sandbox.run(&["accounts", "create", name, "--plan", "pro"]).done();
    }
    let (old, _) = issued(&sandbox, &["issue", "--account", "acme"]);
    let (new, _) = issued(&sandbox, &["rotate", &old]);
    let (other, _) = issued(&sandbox, &["issue", "--account", "globex"]);
    let listed = |arguments: &[&str]| {
        let all = [&["keys", "list", "--json"], arguments].concat();
        let keys = sandbox.run(&all).json();
        keys.as_array().unwrap().iter().map(|key| key["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), [old.as_str(), &new, &other]);
    assert_eq!(listed(&["--account", "acme"]), [old.as_str(), &new]);
    assert_eq!(listed(&["--state", "active"]), [new.as_str(), &other]);
    assert_eq!(listed(&["--state", "rotated", "--account", "acme"]), [old.as_str()]);
    assert_eq!(listed(&["--state", "rotated", "--account", "globex"]), [""; 0]);
    let error = sandbox.run(&["keys", "list", "--account", "none"]).missing();
    assert!(error.starts_with("there is no account \"none\""), "{error}");
    sandbox.run(&["keys", "list", "--state", "gone"]).usage();
    let table = sandbox.run(&["keys", "list"]).done();
    let names: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    let expected = ["id", "account", "environment", "state", "issuedAt", "expiresAt", "successor"];
    assert_eq!(names, expected);
    let wide = sandbox.run(&["keys", "list", "--wide"]).done();
    assert_eq!(wide.lines().next().unwrap().split_whitespace().count(), 11);
}

#[test]
fn a_label_is_listed_and_goes_over_to_the_next_key() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let (id, key) = issued(&sandbox, &["issue", "--account", "acme", "--label", "web shop"]);
    issued(&sandbox, &["rotate", &id]);
    let next = sandbox.listed(&["keys"])[1]["id"].as_str().unwrap().to_string();
    issued(&sandbox, &["rotate", &next, "--label", "app"]);
    let labels: Vec<_> = sandbox.listed(&["keys"]).iter().map(|key| key["label"].clone()).collect();
    assert_eq!(labels, ["web shop", "web shop", "app"]);
    let table = sandbox.run(&["keys", "list"]).done();
    let names: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(names[..3], ["id", "account", "label"]);
    assert!(table.lines().nth(1).unwrap().contains(" acme     web shop  "), "{table}");
    let found = sandbox.run_with_input(&["keys", "find", "-"], key.as_bytes()).done();
    assert!(found.contains("\nlabel        web shop\n"), "{found}");
    let error = sandbox.run(&["keys", "issue", "--account", "acme", "--label", "a\nb"]).error();
    assert!(error.starts_with("the label of a key has printable characters only"), "{error}");
}

#[test]
fn a_key_is_shown_at_issue_and_never_again() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let (first, key) = issued(&sandbox, &["issue", "--account", "acme"]);
    let staging = ["issue", "--account", "acme", "--environment", "staging", "--expires", "90d"];
    let (second, staging) = issued(&sandbox, &staging);
    let (third, successor) = issued(&sandbox, &["rotate", &first]);
    let text = sandbox.run(&["keys", "issue", "--account", "acme"]).done();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("id   key_") && lines[1].starts_with("key  sto_live_"), "{text}");
    assert_eq!(lines[2], "Copy this key now; it is not shown again.");

    let store = sandbox.store();
    for (key, environment) in [
        (&key, Environment::Production),
        (&staging, Environment::Staging),
        (&successor, Environment::Production),
    ] {
        let digest = digest_of(key.as_bytes(), environment).unwrap();
        assert!(store.key_record(&digest).unwrap().is_some());
    }
    let shown = [&["keys", "list"][..], &["keys", "list", "--json"], &["accounts", "list"]]
        .map(|arguments| sandbox.run(arguments).done())
        .concat();
    assert!(!shown.contains("sto_") && shown.contains(&second) && shown.contains(&third));
    for file in std::fs::read_dir(sandbox.path("store-orders-data")).unwrap() {
        let content = std::fs::read(file.unwrap().path()).unwrap();
        for key in [&key, &staging, &successor] {
            assert!(!content.windows(key.len()).any(|bytes| bytes == key.as_bytes()));
        }
    }
}

#[test]
fn keys_are_rotated_and_revoked() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let (old, _) = issued(&sandbox, &["issue", "--account", "acme"]);
    let (new, _) = issued(&sandbox, &["rotate", &old, "--overlap", "7d"]);
    let states = || {
        let keys = sandbox.listed(&["keys"]);
        keys.iter().map(|key| key["state"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["rotated", "active"]);
    assert_eq!(sandbox.listed(&["keys"])[0]["successor"], json!(new));
    assert_eq!(sandbox.run(&["keys", "revoke", &new]).done(), format!("revoked {new}\n"));
    let revoked = sandbox.run(&["keys", "revoke", &new, "--json"]).json();
    assert_eq!((&revoked["id"], &revoked["state"]), (&json!(new), &json!("revoked")));
    let (third, _) = issued(&sandbox, &["issue", "--account", "acme"]);
    issued(&sandbox, &["rotate", &third, "--overlap", "0s"]);
    assert_eq!(states(), ["rotated", "revoked", "expired", "active"]);

    for (arguments, error) in [
        (["rotate", &old], format!("{old} was rotated already: its successor is {new}")),
        (["rotate", &new], format!("{new} is revoked; issue a new key instead")),
        (
            ["revoke", "key_none"],
            "there is no key key_none; `store-orders keys list` shows those there are".to_string(),
        ),
        (
            ["unban", "key_none"],
            "there is no key key_none; `store-orders keys list` shows those there are".to_string(),
        ),
    ] {
        sandbox.run(&["keys", arguments[0], arguments[1]]).refused_with(&error);
    }
    assert_eq!(
        sandbox.run(&["keys", "issue", "--account", "globex"]).missing(),
        "there is no account \"globex\"; `store-orders accounts list` shows those there are"
    );
    for arguments in [
        &["rotate", &third, "--overlap", "8d"][..],
        &["issue", "--account", "acme", "--expires", "soon"],
        &["issue", "--account", "acme", "--expires", "0s"],
        &["issue", "--account", "acme", "--environment", "test"],
        &["issue"],
    ] {
        sandbox.run(&[&["keys"], arguments].concat()).usage();
    }
    assert_eq!(states().len(), 4);
}

#[test]
fn a_key_that_could_not_be_shown_is_named() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let mut command = sandbox.command(&["keys", "issue", "--account", "acme"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let id = sandbox.listed(&["keys"])[0]["id"].as_str().unwrap().to_string();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.starts_with(&format!("error: {id} was issued, but it could not be shown")));
    assert!(error.contains("No space left") && error.lines().count() == 1, "{error}");
    assert!(!error.contains("sto_"));
}
