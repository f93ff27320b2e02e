//! The `accounts` commands. A command that is refused changes nothing.

use testbed::{CliSandbox, str};

#[test]
fn accounts_have_plans_and_refused_commands_change_nothing() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro
created a new store in [DIRECTORY]/store-orders-data
created account "acme": pro, 300 requests a minute, 10000 a day
$ store-orders accounts create globex --plan enterprise --per-minute 5000 --per-day 0 --json
{"id":2,"name":"globex","plan":"enterprise","perMinute":5000,"perDay":0,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"}
! warning: with a limit of 0, every request of "globex" is answered with 429; to shut an account out for good, close it
$ store-orders accounts set-plan globex --plan free
changed account "globex": free, 60 requests a minute, 1000 a day
$ store-orders accounts create initech --plan enterprise
(1) error: an enterprise account needs limits of its own: --per-minute N --per-day N
$ store-orders accounts set-plan acme --plan free --per-minute 1 --per-day 1
(1) error: the plan free has fixed limits (60 a minute, 1000 a day); only enterprise takes --per-minute and --per-day
$ store-orders accounts create initech --plan gold
(2) error: invalid value 'gold' for '--plan <PLAN>'
(2)   [possible values: free, pro, business, enterprise]
$ store-orders accounts create initech --plan enterprise --per-minute 5
(2) error: the following required arguments were not provided:
(2)   --per-day <N>
$ store-orders accounts list --json
[
{"id":1,"name":"acme","plan":"pro","perMinute":300,"perDay":10000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"},
{"id":2,"name":"globex","plan":"free","perMinute":60,"perDay":1000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"}
]
$ store-orders accounts list
id  name    plan  perMinute  perDay  keys  createdAt
 1  acme    pro         300   10000     0  YYYY-MM-DD
 2  globex  free         60    1000     0  YYYY-MM-DD
"#]]);
}

#[test]
fn an_account_can_be_renamed_and_no_name_contains_a_key() {
    let long = "x".repeat(64);
    let sandbox = CliSandbox::new();
    sandbox.write("64", &long);
    sandbox.session(str![[r#"
$ store-orders accounts create ' acme ' --plan pro
created a new store in [DIRECTORY]/store-orders-data
created account "acme": pro, 300 requests a minute, 10000 a day
$ store-orders accounts create globex --plan free
created account "globex": free, 60 requests a minute, 1000 a day
$ store-orders keys issue --account acme | grep ^key | cut -c6- > key
$ store-orders accounts rename acme 'Acme Corporation'
renamed account "acme" to "Acme Corporation"
$ store-orders keys find - --json < key
{"id":"key_111111111111","account":"Acme Corporation","environment":"production","state":"active","issuedAt":"YYYY-MM-DDThh:mm:ssZ"}
$ store-orders accounts rename globex 'Acme Corporation'
(1) error: there is an account "Acme Corporation" already
$ store-orders accounts rename globex '  '
(1) error: the name of an account is empty
$ store-orders accounts rename globex "$(cat 64)x"
(1) error: the name of an account has at most 64 characters; this one has 65
$ store-orders accounts rename globex "$(printf 'a\342\200\256b\tc')"
(1) error: the name of an account has printable characters only, and no space but the plain one; this one is a\u{202e}b\tc
$ store-orders accounts rename globex "the one of $(cat key)!"
(1) error: the name of an account must not hold an API key
$ store-orders accounts create "$(head -c 20 key)" --plan free
(1) error: the name of an account must not hold an API key
$ store-orders accounts rename globex globex
renamed account "globex" to "globex"
$ : The prefix of a key is not a secret.
$ store-orders accounts rename globex 'users of sto_live_'
renamed account "globex" to "users of sto_live_"
$ store-orders accounts rename 'users of sto_live_' "$(cat 64)" --json
{"id":2,"name":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","plan":"free","perMinute":60,"perDay":1000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"}
"#]]);
}

#[test]
fn a_closed_account_keeps_its_name_and_has_no_key() {
    CliSandbox::new().session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders keys issue --account acme > /dev/null
$ store-orders keys issue --account acme | grep ^key | cut -c6- > key
$ store-orders accounts close acme
(1) error: closing "acme" revokes all its keys for good; repeat it with --yes
$ store-orders accounts close acme --yes
closed account "acme": 2 keys revoked
$ store-orders accounts close acme --yes --json
{"id":1,"name":"acme","plan":"pro","perMinute":300,"perDay":10000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ","closedAt":"YYYY-MM-DDThh:mm:ssZ","revokedKeys":0}
$ store-orders keys find - < key
id           key_111111111111
account      acme
environment  production
state        revoked
issuedAt     YYYY-MM-DDThh:mm:ssZ
revokedAt    YYYY-MM-DDThh:mm:ssZ
$ store-orders keys issue --account acme
(1) error: the account "acme" is closed, and gets no keys; create another account
$ store-orders accounts create acme --plan free
(1) error: there is an account "acme" already
$ store-orders accounts show 1
name       acme
id         1
plan       pro
keys       0
createdAt  YYYY-MM-DDThh:mm:ssZ
closedAt   YYYY-MM-DDThh:mm:ssZ
minute     0 of 300 used
day        0 of 10000 used
counts     none yet
$ store-orders accounts list
id  name  plan  perMinute  perDay  keys  createdAt   closedAt
 1  acme  pro         300   10000     0  YYYY-MM-DD  YYYY-MM-DD
$ store-orders accounts rename acme 'acme (closed)'
renamed account "acme" to "acme (closed)"
$ store-orders accounts create acme --plan free > /dev/null
$ store-orders accounts list --json
[
{"id":2,"name":"acme","plan":"free","perMinute":60,"perDay":1000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"},
{"id":1,"name":"acme (closed)","plan":"pro","perMinute":300,"perDay":10000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ","closedAt":"YYYY-MM-DDThh:mm:ssZ"}
]
"#]]);
}
