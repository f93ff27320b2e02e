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
        json!({"id": 2, "name": "globex", "plan": "enterprise", "perMinute": 5000, "perDay": 0,
               "keys": 0})
    );
    sandbox.run(&["accounts", "set-plan", "globex", "--plan", "free"]).done();
    let names_and_limits: Vec<_> = sandbox
        .listed(&["accounts"])
        .iter()
        .map(|account| json!([account["name"], account["plan"], account["perMinute"]]))
        .collect();
    assert_eq!(names_and_limits, [json!(["acme", "pro", 300]), json!(["globex", "free", 60])]);
    let table = sandbox.run(&["accounts", "list"]).done();
    let header = "id  name    plan  perMinute  perDay  keys  createdAt\n";
    assert!(table.starts_with(header), "{table}");
    let wide = sandbox.run(&["accounts", "list", "--wide"]).done();
    assert!(wide.lines().next().unwrap().ends_with("  createdAt             closedAt"), "{wide}");
    assert!(wide.contains(at.as_str().unwrap()) && !table.contains(at.as_str().unwrap()));
}

#[test]
fn an_account_can_be_renamed() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", " acme ", "--plan", "pro"]).done();
    sandbox.run(&["accounts", "create", "globex", "--plan", "free"]).done();
    let (id, key) = issued(&sandbox, &["issue", "--account", "acme"]);
    assert_eq!(
        sandbox.run(&["accounts", "rename", "acme", "Acme Corporation"]).done(),
        "renamed account \"acme\" to \"Acme Corporation\"\n"
    );
    let found = sandbox.run_with_input(&["keys", "find", "-", "--json"], key.as_bytes()).json();
    assert_eq!((&found["id"], &found["account"]), (&json!(id), &json!("Acme Corporation")));
    let long = "x".repeat(65);
    for (name, new_name, error) in [
        (
            "acme",
            "other",
            "there is no account \"acme\"; `store-orders accounts list` shows those there are",
        ),
        ("globex", "Acme Corporation", "there is an account \"Acme Corporation\" already"),
        ("globex", "  ", "an account needs a name"),
        ("globex", &long, "the name of an account has at most 64 characters; this one has 65"),
        (
            "globex",
            "a\u{202e}b\tc",
            "the name of an account has printable characters only, and no space but the plain \
             one; this one is a\\u{202e}b\\tc",
        ),
    ] {
        assert_eq!(sandbox.run(&["accounts", "rename", name, new_name]).error(), error);
    }
    sandbox.run(&["accounts", "rename", "globex", "globex"]).done();
    let renamed = sandbox.run(&["accounts", "rename", "globex", &long[..64], "--json"]);
    assert_eq!(renamed.json(), json!({"renamed": "globex", "name": &long[..64]}));
}

#[test]
fn a_closed_account_keeps_its_name_and_has_no_key() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    issued(&sandbox, &["issue", "--account", "acme"]);
    let (_, key) = issued(&sandbox, &["issue", "--account", "acme"]);
    let close = ["accounts", "close", "acme"];
    assert_eq!(sandbox.run(&close).done(), "closed account \"acme\": 2 keys revoked\n");
    let again = sandbox.run(&[&close[..], &["--json"]].concat()).json();
    assert_eq!(again, json!({"closed": "acme", "revokedKeys": 0}));
    let found = sandbox.run_with_input(&["keys", "find", "-", "--json"], key.as_bytes()).json();
    assert_eq!(found["state"], "revoked");
    assert_eq!(
        sandbox.run(&["keys", "issue", "--account", "acme"]).error(),
        "the account \"acme\" is closed, and gets no keys; create another account"
    );
    assert_eq!(
        sandbox.run(&["accounts", "create", "acme", "--plan", "free"]).error(),
        "there is an account \"acme\" already"
    );
    let shown = sandbox.run(&["accounts", "show", "acme"]).done();
    assert!(shown.contains("\nclosedAt   20"), "{shown}");
    let listed = sandbox.listed(&["accounts"]);
    assert!(listed[0]["closedAt"].is_string() && listed[0]["keys"] == 0, "{listed:?}");
    assert!(sandbox.run(&["accounts", "list"]).done().contains("  closedAt\n"));
    sandbox.run(&["accounts", "rename", "acme", "acme (closed)"]).done();
    sandbox.run(&["accounts", "create", "acme", "--plan", "free"]).done();
    assert!(sandbox.listed(&["accounts"])[0].get("closedAt").is_none());
    assert!(sandbox.run(&["accounts", "close", "none"]).error().starts_with("there is no account"));
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
    let unknown = other.run_with_input(&["keys", "find", "-"], key.as_bytes()).error();
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
    let error = sandbox.run(&["keys", "list", "--account", "none"]).error();
    assert!(error.starts_with("there is no account \"none\""), "{error}");
    sandbox.run(&["keys", "list", "--state", "banned"]).usage();
    let table = sandbox.run(&["keys", "list"]).done();
    let names: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    let expected = ["id", "account", "environment", "state", "issuedAt", "expiresAt", "successor"];
    assert_eq!(names, expected);
    let wide = sandbox.run(&["keys", "list", "--wide"]).done();
    assert_eq!(wide.lines().next().unwrap().split_whitespace().count(), 10);
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
