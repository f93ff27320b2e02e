//! The `keys` commands. A key is shown only by the command that issues it.

use super::store;
use store_orders::api_key::{Environment, digest_of};
use store_orders::store::KeyCommands;
use testbed::{CliSandbox, str};

#[test]
fn keys_find_identifies_a_key_and_never_prints_it() {
    let sandbox = CliSandbox::new();
    sandbox.session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders keys issue --account acme --environment staging --json | tee issued
{"key":"sto_test_111111111111111111111111111111111111","id":"key_111111111111","account":"acme","environment":"staging","state":"active","issuedAt":"YYYY-MM-DDThh:mm:ssZ"}
$ KEY=$(sed 's/.*"key":"\([^"]*\)".*/\1/' issued)
$ echo "$KEY" | store-orders keys find -
id           key_111111111111
account      acme
environment  staging
state        active
issuedAt     YYYY-MM-DDThh:mm:ssZ
$ printf '  %s\r\nmore' "$KEY" | store-orders keys find - | tail -n +2
account      acme
environment  staging
state        active
issuedAt     YYYY-MM-DDThh:mm:ssZ
$ store-orders keys revoke $(sed 's/.*"id":"\([^"]*\)".*/\1/' issued)
revoked key_111111111111
$ echo "$KEY" | store-orders keys find - --json
{"id":"key_111111111111","account":"acme","environment":"staging","state":"revoked","issuedAt":"YYYY-MM-DDThh:mm:ssZ","revokedAt":"YYYY-MM-DDThh:mm:ssZ"}
$ store-orders accounts create globex --plan pro --data-dir other > /dev/null
$ echo "$KEY" | store-orders keys find - --data-dir other
(3) error: the store knows no such key: its form is valid, so it may be of another store; --data-dir or --store names one
$ echo "$KEY" | sed 's/a$/b/;t;s/.$/a/' | store-orders keys find -
(1) error: the first line of standard input is not an API key: one is sto_live_ or sto_test_ and 36 letters and digits, of which the last six are a checksum; this one is incomplete, mistyped, or not alone on its line
$ printf '' | store-orders keys find -
(1) error: there is no key on the first line of standard input
$ store-orders keys find "$KEY"
(2) error: invalid value 'sto_test_...' for '<->': a key is read from standard input, because every user of a machine can read arguments, and a shell keeps them; write - here
"#]]);
}

#[test]
fn keys_are_listed_by_account_and_state() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders accounts create globex --plan pro > /dev/null
$ OLD=$(store-orders keys issue --account acme | cut -c6- | head -n 1)
$ store-orders keys rotate "$OLD" > /dev/null
$ store-orders keys issue --account globex > /dev/null
$ store-orders keys list
id                account  environment  state    issuedAt    expiresAt   successor
key_111111111111  acme     production   rotated  YYYY-MM-DD  YYYY-MM-DD  key_222222222222
key_222222222222  acme     production   active   YYYY-MM-DD
key_333333333333  globex   production   active   YYYY-MM-DD
$ store-orders keys list --wide
id                account  label  environment  state    issuedAt              expiresAt             revokedAt  bannedUntil  usedAt  successor
key_111111111111  acme            production   rotated  YYYY-MM-DDThh:mm:ssZ  YYYY-MM-DDThh:mm:ssZ                                  key_222222222222
key_222222222222  acme            production   active   YYYY-MM-DDThh:mm:ssZ
key_333333333333  globex          production   active   YYYY-MM-DDThh:mm:ssZ
$ store-orders keys list --state rotated --account acme
id                account  environment  state    issuedAt    expiresAt   successor
key_111111111111  acme     production   rotated  YYYY-MM-DD  YYYY-MM-DD  key_222222222222
$ store-orders keys list --state rotated --account globex --json
[]
$ store-orders keys list --account none
(3) error: there is no account "none"; `store-orders accounts list` shows those there are
$ store-orders keys list --state gone
(2) error: invalid value 'gone' for '--state <STATE>'
(2)   [possible values: active, rotated, banned, expired, revoked]
"#]]);
}

#[test]
fn a_label_is_listed_and_passed_on_by_a_rotation() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders keys issue --account acme --label 'web shop' > issued
$ store-orders keys rotate $(head -n 1 issued | cut -c6-) > next
$ store-orders keys rotate $(head -n 1 next | cut -c6-) --label app > /dev/null
$ store-orders keys list
id                account  label     environment  state    issuedAt    expiresAt   successor
key_111111111111  acme     web shop  production   rotated  YYYY-MM-DD  YYYY-MM-DD  key_222222222222
key_222222222222  acme     web shop  production   rotated  YYYY-MM-DD  YYYY-MM-DD  key_333333333333
key_333333333333  acme     app       production   active   YYYY-MM-DD
$ grep ^key issued | cut -c6- | store-orders keys find -
id           key_111111111111
account      acme
label        web shop
environment  production
state        rotated
issuedAt     YYYY-MM-DDThh:mm:ssZ
expiresAt    YYYY-MM-DDThh:mm:ssZ
successor    key_222222222222
$ store-orders keys issue --account acme --label "$(printf 'a\nb')"
(1) error: the label of a key has printable characters only, and no space but the plain one; this one is a\nb
"#]]);
}

#[test]
fn a_key_is_shown_at_issue_and_never_again() {
    let sandbox = CliSandbox::new();
    sandbox.session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders keys issue --account acme > first
$ store-orders keys issue --account acme --environment staging --expires 90d > second
$ store-orders keys rotate $(head -n 1 first | cut -c6-) > third
$ store-orders keys list --json > shown; store-orders keys list >> shown
$ store-orders accounts list >> shown; grep -c sto_ shown
0
(1)
$ for file in first second third; do grep -c $(head -n 1 $file | cut -c6-) shown; done
2
2
4
"#]]);
    let store = store(&sandbox);
    for (file, environment) in [
        ("first", Environment::Production),
        ("second", Environment::Staging),
        ("third", Environment::Production),
    ] {
        let issued = std::fs::read_to_string(sandbox.path(file)).unwrap();
        let key = issued.lines().find_map(|line| line.strip_prefix("key  ")).unwrap();
        let digest = digest_of(key.as_bytes(), environment).unwrap();
        assert!(store.key_record(&digest).unwrap().is_some());
        for file in std::fs::read_dir(sandbox.path("store-orders-data")).unwrap() {
            let content = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!content.windows(key.len()).any(|bytes| bytes == key.as_bytes()));
        }
    }
}

#[test]
fn keys_are_rotated_and_revoked() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ OLD=$(store-orders keys issue --account acme | head -n 1 | cut -c6-)
$ NEW=$(store-orders keys rotate $OLD --overlap 7d | head -n 1 | cut -c6-)
$ store-orders keys revoke $NEW
revoked key_111111111111
$ store-orders keys revoke $NEW --json
{"id":"key_111111111111","account":"acme","environment":"production","state":"revoked","issuedAt":"YYYY-MM-DDThh:mm:ssZ","revokedAt":"YYYY-MM-DDThh:mm:ssZ"}
$ THIRD=$(store-orders keys issue --account acme | head -n 1 | cut -c6-)
$ store-orders keys rotate $THIRD --overlap 0s > /dev/null
$ store-orders keys rotate $OLD
(1) error: key_222222222222 was rotated already: its successor is key_111111111111
$ store-orders keys rotate $NEW
(1) error: key_111111111111 is revoked; issue a new key instead
$ store-orders keys unban key_none
(3) error: there is no key key_none; `store-orders keys list` shows those there are
$ store-orders keys rotate $THIRD --overlap 8d
(2) error: invalid value '8d' for '--overlap <DURATION>': a rotated key stays valid for at most 7 days
$ store-orders keys issue --account acme --expires soon
(2) error: invalid value 'soon' for '--expires <DURATION>': expected number at 0; write a duration like 30m, 24h or 7d
$ store-orders keys issue --account acme --expires 0s
(2) error: invalid value '0s' for '--expires <DURATION>': a key is valid for more than 0 s and at most 100 years; without --expires it is valid until it is revoked
$ store-orders keys list | cut -d ' ' -f 1,9-
id         account  environment  state    issuedAt    expiresAt   revokedAt   successor
key_222222222222   rotated  YYYY-MM-DD  YYYY-MM-DD              key_111111111111
key_111111111111   revoked  YYYY-MM-DD              YYYY-MM-DD
key_333333333333   expired  YYYY-MM-DD  YYYY-MM-DD              key_444444444444
key_444444444444   active   YYYY-MM-DD
"#]]);
}

#[test]
fn a_key_that_could_not_be_shown_is_named() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders keys issue --account acme > /dev/full
(1) error: key_111111111111 was issued, but it could not be shown, and it cannot be shown again; revoke it with `store-orders keys revoke key_111111111111`: No space left on device (os error 28)
$ store-orders keys list
id                account  environment  state   issuedAt
key_111111111111  acme     production   active  YYYY-MM-DD
"#]]);
}
