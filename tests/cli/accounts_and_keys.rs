//! `accounts` and `keys`.

use serde_json::{Value, json};
use std::process::Stdio;
use store_orders::keys::{Environment, digest_of};
use store_orders::store::Store;
use testbed::CliSandbox;

#[test]
fn accounts_have_plans() {
    let sandbox = CliSandbox::new();
    assert_eq!(
        sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done(),
        "created account \"acme\": pro, 300 requests a minute, 10000 a day\n"
    );
    let agreed = ["--plan", "enterprise", "--per-minute", "5000", "--per-day", "0", "--json"];
    let mut created =
        sandbox.run(&[&["accounts", "create", "globex"], &agreed[..]].concat()).json();
    let at = created.as_object_mut().unwrap().remove("createdAt").unwrap();
    assert!(at.as_str().unwrap().ends_with('Z') && at.as_str().unwrap().len() == 20, "{at}");
    assert_eq!(
        created,
        json!({"name": "globex", "plan": "enterprise", "perMinute": 5000, "perDay": 0, "keys": 0})
    );
    sandbox.run(&["accounts", "set-plan", "globex", "--plan", "free"]).done();
    let names_and_limits: Vec<_> = sandbox
        .listed(&["accounts"])
        .iter()
        .map(|account| json!([account["name"], account["plan"], account["perMinute"]]))
        .collect();
    assert_eq!(names_and_limits, [json!(["acme", "pro", 300]), json!(["globex", "free", 60])]);
    let table = sandbox.run(&["accounts", "list"]).done();
    assert!(table.starts_with("name    plan  perMinute  perDay  keys  createdAt\n"), "{table}");
}

#[test]
fn no_account_is_named_after_a_key() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let issued = sandbox.run(&["keys", "issue", "--account", "acme", "--json"]).json();
    let key = issued["key"].as_str().unwrap();
    for name in [key.to_string(), format!("the one of {key}!"), key[..20].to_string()] {
        let error = sandbox.run(&["accounts", "create", &name, "--plan", "free"]).error();
        assert_eq!(error, "the name of an account must not hold an API key");
    }
    assert_eq!(sandbox.listed(&["accounts"]).len(), 1);
    // What a key begins with is no secret.
    sandbox.run(&["accounts", "create", "users of sto_live_", "--plan", "free"]).done();
}

#[test]
fn a_refused_account_is_one_line_and_changes_nothing() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let before = sandbox.listed(&["accounts"]);
    for (arguments, error) in [
        (&["create", "acme", "--plan", "free"][..], "there is an account \"acme\" already"),
        (
            &["create", "globex", "--plan", "enterprise"],
            "an enterprise account needs limits of its own: --per-minute N --per-day N",
        ),
        (
            &["set-plan", "acme", "--plan", "free", "--per-minute", "1", "--per-day", "1"],
            "the plan free has fixed limits (60 a minute, 1000 a day); only enterprise takes \
             --per-minute and --per-day",
        ),
        (
            &["set-plan", "globex", "--plan", "free"],
            "there is no account \"globex\"; `store-orders accounts list` shows those there are",
        ),
        (
            &["show", "globex"],
            "there is no account \"globex\"; `store-orders accounts list` shows those there are",
        ),
        (&["create", " ", "--plan", "free"], "an account needs a name"),
    ] {
        assert_eq!(sandbox.run(&[&["accounts"], arguments].concat()).error(), error);
    }
    for arguments in [
        &["create", "globex"][..],
        &["create", "globex", "--plan", "gold"],
        &["create", "globex", "--plan", "enterprise", "--per-minute", "5"],
        &["create", "globex", "--plan", "enterprise", "--per-minute", "-1", "--per-day", "1"],
    ] {
        sandbox.run(&[&["accounts"], arguments].concat()).usage();
    }
    assert_eq!(sandbox.listed(&["accounts"]), before);
}

fn issued(sandbox: &CliSandbox, arguments: &[&str]) -> (String, String) {
    let all = [&["keys"], arguments, &["--json"]].concat();
    let Value::Object(issued) = sandbox.run(&all).json() else { panic!("no object") };
    assert_eq!(issued.keys().collect::<Vec<_>>(), ["id", "key"]);
    let text = |name: &str| issued[name].as_str().unwrap().to_string();
    (text("id"), text("key"))
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
    assert_eq!(lines[2], "The key is shown this once: the store keeps only its hash.");

    let known = sandbox.store().keys().unwrap();
    for (key, environment) in [
        (&key, Environment::Production),
        (&staging, Environment::Staging),
        (&successor, Environment::Production),
    ] {
        let digest = digest_of(key.as_bytes(), environment).unwrap();
        assert!(known.iter().any(|(known, _)| *known == digest));
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
    assert_eq!(sandbox.run(&["keys", "revoke", &new, "--json"]).json(), json!({"revoked": new}));
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
        assert_eq!(sandbox.run(&["keys", arguments[0], arguments[1]]).error(), error);
    }
    assert_eq!(
        sandbox.run(&["keys", "issue", "--account", "globex"]).error(),
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
