//! `accounts`.

use super::keys::issued;
use serde_json::{Value, json};
use testbed::CliSandbox;

#[test]
fn accounts_have_plans() {
    let sandbox = CliSandbox::new();
    assert_eq!(
        sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done(),
        "created account \"acme\": pro, 300 requests a minute, 10000 a day\n"
    );
    let agreed = ["--plan", "enterprise", "--per-minute", "5000", "--per-day", "0", "--json"];
    let created = sandbox.run(&[&["accounts", "create", "globex"], &agreed[..]].concat());
    let warning = "warning: with a limit of 0, every request of \"globex\" is answered with 429";
    assert!(created.stderr.starts_with(warning), "{}", created.stderr);
    let mut created: Value = serde_json::from_str(&created.stdout).unwrap();
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
        ("globex", "  ", "the name of an account is empty"),
        ("globex", &long, "the name of an account has at most 64 characters; this one has 65"),
        (
            "globex",
            "a\u{202e}b\tc",
            "the name of an account has printable characters only, and no space but the plain \
             one; this one is a\\u{202e}b\\tc",
        ),
    ] {
        sandbox.run(&["accounts", "rename", name, new_name]).refused_with(error);
    }
    sandbox.run(&["accounts", "rename", "globex", "globex"]).done();
    let renamed = sandbox.run(&["accounts", "rename", "globex", &long[..64], "--json"]).json();
    assert_eq!((&renamed["id"], &renamed["name"]), (&json!(2), &json!(&long[..64])));
}

#[test]
fn a_closed_account_keeps_its_name_and_has_no_key() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    issued(&sandbox, &["issue", "--account", "acme"]);
    let (_, key) = issued(&sandbox, &["issue", "--account", "acme"]);
    let asked = sandbox.run(&["accounts", "close", "acme"]).error();
    assert!(asked.contains("revokes all its keys for good; repeat it with --yes"), "{asked}");
    let id = sandbox.listed(&["accounts"])[0]["id"].to_string();
    assert!(sandbox.run(&["accounts", "show", &id]).done().contains("name       acme\n"));
    let close = ["accounts", "close", "acme", "--yes"];
    assert_eq!(sandbox.run(&close).done(), "closed account \"acme\": 2 keys revoked\n");
    let again = sandbox.run(&[&close[..], &["--json"]].concat()).json();
    let account = &sandbox.listed(&["accounts"])[0];
    assert_eq!(again["revokedKeys"], 0);
    assert!(account.as_object().unwrap().iter().all(|(name, value)| again[name] == *value));
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
    assert!(
        sandbox
            .run(&["accounts", "close", "none", "--yes"])
            .missing()
            .starts_with("there is no account")
    );
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
        (&["create", " ", "--plan", "free"], "the name of an account is empty"),
    ] {
        sandbox.run(&[&["accounts"], arguments].concat()).refused_with(error);
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
