//! Checks the handbook and the README: commands, settings and link targets must exist, and the
//! handbook must list the log's fields. Runs the console sessions of the README and the guide.

use super::one_machine::{self, ONE_MACHINE};
use super::runbook::{self, RUNBOOK};
use crate::cli::commands;
use std::collections::BTreeSet;
use std::path::Path;
use testbed::{CliSandbox, Console, DataDir, ServerProcess, Signal, consoles, str};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PAGES: [&str; 9] = [
    "one-machine",
    "operating",
    "runbook",
    "log",
    "replicas",
    "containers",
    "kubernetes",
    "upgrading",
    "settings",
];

fn texts() -> Vec<(String, String)> {
    let pages = PAGES.map(|page| format!("src/handbook/{page}.md"));
    let others = [README, ".github/CONTRIBUTING.md", ".github/SECURITY.md"];
    let paths = pages.into_iter().chain(others.map(str::to_string));
    paths.map(|path| (read(&path), path)).map(|(text, path)| (path, text)).collect()
}

fn read(path: &str) -> String {
    let text = std::fs::read_to_string(Path::new(ROOT).join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all code spans and the lines of all code blocks.
fn code(text: &str) -> Vec<String> {
    let mut snippets = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            snippets.extend(part.lines().map(str::to_string));
        } else {
            snippets.extend(part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
        }
    }
    snippets
}

/// Returns the arguments if the line calls our program. A line that only names the program, for
/// example in a path, a message or a unit's name, is not a call.
fn our_command(line: &str) -> Option<&str> {
    let calls = line.match_indices("store-orders ").find(|(at, _)| {
        let before = &line[..*at];
        let names = ["systemctl", "journalctl", "kubectl create", "version of", "needs "];
        !before.ends_with(['/', '='])
            && !before.ends_with(": ")
            && !names.iter().any(|name| before.contains(name))
    });
    calls.map(|(at, name)| &line[at + name.len()..])
}

#[test]
fn a_page_is_printed_and_all_are_listed() {
    let sandbox = CliSandbox::new();
    let list = sandbox.run(&["handbook"]).done();
    for page in PAGES {
        assert!(list.contains(&format!("store-orders handbook {page} ")), "{list}");
        let text = read(&format!("src/handbook/{page}.md"));
        assert_eq!(sandbox.run(&["handbook", page]).done(), text);
    }
    assert_eq!(list.lines().count(), PAGES.len());
}

#[test]
fn a_section_is_found_by_words_of_its_heading() {
    let sandbox = CliSandbox::new();
    let section = sandbox.run(&["handbook", "operating", "Scheduled backups"]).done();
    assert!(section.starts_with("## Scheduled backups\n"), "{section}");
    for words in [&["backups"][..], &["backups", "Scheduled"], &["scheduled backups"]] {
        let by_words = sandbox.run(&[&["handbook", "operating"], words].concat()).done();
        assert_eq!(by_words, section, "{words:?}");
    }
    let one_heading = sandbox.run(&["handbook", "operating", "the", "log"]).done();
    assert!(one_heading.starts_with("## The log\n"), "{one_heading}");
    let several = sandbox.run(&["handbook", "operating", "log"]).error();
    assert_eq!(
        several,
        "there is more than one section \"log\". There are: The log, The audit log"
    );
    let none = sandbox.run(&["handbook", "operating", "backups", "Kafka"]).error();
    assert!(none.starts_with("there is no section \"backups Kafka\". There are: Monitoring, "));
}

#[test]
fn named_commands_exist_and_accept_their_arguments() {
    let (commands, mut checked, mut parsed) = (commands(), 0, 0);
    for (path, text) in texts() {
        for line in code(&text).iter().filter(|line| !line.starts_with("docker run ")) {
            let Some(ours) = our_command(line) else { continue };
            let end = ours.find(['|', '>', '`', '#']).unwrap_or(ours.len());
            // Split at quotes first, because a quoted string is one argument.
            let parts = ours[..end].split('"').enumerate();
            let words: Vec<&str> = parts
                .flat_map(|(number, part)| match number % 2 {
                    0 => part.split_whitespace().collect(),
                    _ => vec![part],
                })
                .collect();
            let (mut command, mut names) = (&commands[0], 0);
            while let (true, Some(word)) = (command.has_subcommands(), words.get(names)) {
                let sub = command.find_subcommand(word);
                command = sub.unwrap_or_else(|| panic!("{path}: no command {word:?}: {line}"));
                names += 1;
            }
            checked += names;
            // Do not parse a command that is mentioned only by name, because its required arguments
            // are missing.
            if words.len() > names && words.last() != Some(&"--help") {
                let typed = ["store-orders"].iter().chain(&words);
                let refused = commands[0].clone().try_get_matches_from(typed).err();
                assert_eq!(refused.map(|error| error.to_string()), None, "{path}: {line}");
                parsed += 1;
            }
        }
    }
    assert!(checked > 30 && parsed > 10, "{checked} {parsed}");
}

#[test]
fn named_settings_exist() {
    let mut exist = BTreeSet::new();
    for arg in commands().iter().flat_map(clap::Command::get_arguments) {
        exist.extend(arg.get_long().map(|name| format!("--{name}")));
        exist.extend(arg.get_env().map(|name| name.to_string_lossy().into_owned()));
    }
    let mut checked = 0;
    for (path, text) in texts() {
        for line in code(&text) {
            // Skip the options of other programs, such as `docker`.
            let ours = line.starts_with("--") || our_command(&line).is_some();
            let other = ["docker", "cargo", "kubectl"].iter().any(|other| line.starts_with(other));
            let is_name =
                |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
            for word in line.split(|character| !is_name(character)) {
                let is_flag = word.starts_with("--") && word.ends_with(char::is_alphanumeric);
                let flag = ours && !other && is_flag;
                let variable =
                    word.len() > "STORE_ORDERS_".len() && word.starts_with("STORE_ORDERS_");
                if (flag && word != "--help") || variable {
                    assert!(exist.contains(word), "{path}: {word}: {line}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut checked = 0;
    for (path, text) in texts() {
        let directory = Path::new(ROOT).join(&path).parent().unwrap().to_path_buf();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.starts_with("https://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = match file {
                "" => text.clone(),
                file => {
                    let file = directory.join(file);
                    assert!(file.exists(), "{path}: {target}");
                    std::fs::read_to_string(file).unwrap_or_default()
                }
            };
            let headings = linked.lines().filter(|line| line.starts_with('#'));
            let mut anchors = headings
                .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
            assert!(
                anchor.is_empty() || anchors.any(|heading| heading == anchor),
                "{path}: {target}"
            );
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}

#[test]
fn pages_name_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let upgrading = read(UPGRADING);
    let newest = upgrading.lines().filter(|line| line.starts_with("## ")).nth(2);
    assert_eq!(newest, Some(&*format!("## {version}")));
    let kubernetes = read("src/handbook/kubernetes.md");
    let images = kubernetes.lines().filter(|line| line.contains("image: store-orders"));
    let expected = format!("image: store-orders:{version}");
    assert!(images.clone().count() > 2 && images.clone().all(|line| line.ends_with(&expected)));
    assert!(kubernetes.contains(&format!("store-orders-migrate-{}\n", version.replace('.', "-"))));
    // Check that the program accepts the arguments that the containers pass to it.
    for line in kubernetes.lines().filter_map(|line| line.trim().strip_prefix("args: [")) {
        let words = line.trim_end_matches(']').split(", ");
        let parsed =
            commands()[0].clone().try_get_matches_from(["store-orders"].into_iter().chain(words));
        assert!(parsed.is_ok(), "{line}");
    }
    // Together, the stop delay and the shutdown must end before Kubernetes kills the server.
    for seconds in ["STOP_DELAY: 15s", "SHUTDOWN_TIMEOUT: 20s", "GracePeriodSeconds: 45"] {
        assert!(kubernetes.contains(seconds), "{seconds}");
    }
}

#[test]
fn containers_of_kubernetes_are_restricted_and_servers_are_not_the_owner() {
    let page = read("src/handbook/kubernetes.md");
    let count = |text| page.matches(text).count();
    let restricted =
        count("capabilities: { drop: [ALL] }") + count("securityContext: *restricted\n");
    assert!(restricted > 3 && restricted == count(" image: "), "{restricted}");
    let document = |kind| page.split("---\n").find(|text| text.contains(kind)).unwrap();
    assert!(document("kind: ConfigMap").contains("postgres://replica@"));
    assert!(!document("kind: Deployment").contains("owner"));
    assert!(document("kind: PodDisruptionBudget").contains("unhealthyPodEvictionPolicy: "));
}

/// Runs the nightly timer's backup script while a server uses the store.
#[test]
fn the_backup_script_keeps_14_backups_and_checks_each() {
    let page = read("src/handbook/operating.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let sandbox = CliSandbox::new();
    sandbox.write("script", script);
    sandbox.import_pending(1..=10);
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.session(str![[r#"
$ export BACKUPS=backups; mkdir $BACKUPS
$ for day in $(seq -w 1 20); do : > $BACKUPS/2026-01-${day}T000000Z.sqlite; done
$ sh script
wrote backups/[..].sqlite: [..]
restored [..]
...
[..]: sound
orders    10 pending, 0 shipped, 0 cancelled; change 1
...
$ ls $BACKUPS/*.sqlite > kept; wc -l < kept
14
$ test -s $(tail -n 1 kept)
"#]]);
    // If the store is damaged, the script fails and deletes no earlier backup.
    let store = rusqlite::Connection::open(sandbox.path("store-orders-data/store.sqlite")).unwrap();
    let damage = "PRAGMA ignore_check_constraints = ON; UPDATE orders SET quantity = 0";
    store.execute_batch(damage).unwrap();
    sandbox.session(str![[r#"
$ BACKUPS=backups sh script > said 2>&1
(1)
$ ls backups/*.sqlite | grep -c -F -x -f kept
14
"#]]);
}

/// The backup's unit runs as the server's user, so it must be confined as tightly as the server.
#[test]
fn the_backup_unit_is_hardened_as_the_servers() {
    let server = CliSandbox::new().run(&["systemd-unit"]).done();
    let page = read("src/handbook/operating.md");
    let (_, backup) =
        page.split_once("# /etc/systemd/system/store-orders-backup.service\n").unwrap();
    let backup = backup.split("```").next().unwrap();
    let (_, hardening) = server.split_once("\nUMask=0077\n").unwrap();
    let settings = hardening.lines().take_while(|line| *line != "[Install]");
    let settings = settings.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut compared = 0;
    for setting in settings.filter(|line| !line.starts_with("RestrictAddressFamilies=")) {
        assert!(backup.lines().any(|line| line == setting), "{setting}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
    assert!(backup.contains("\nRestrictAddressFamilies=none\n"));
}

const README: &str = "README.md";
const GUIDE: &str = "spec/guide.md";

const GUIDE_SESSIONS: [&str; 6] = [
    "Getting started",
    "Authentication",
    "Pagination and filters",
    "Errors",
    "Retrying safely",
    "Conditional requests (ETag)",
];
const REPLICAS: &str = "src/handbook/replicas.md";
const UPGRADING: &str = "src/handbook/upgrading.md";

/// Only blocks that a test runs may be marked `console`.
#[test]
fn marked_sessions_are_run() {
    let mut texts = texts();
    texts.push((GUIDE.to_string(), read(GUIDE)));
    let marked = |(page, text): &(String, String)| {
        (text.matches("```console\n").count() > 0).then(|| page.clone())
    };
    assert_eq!(
        texts.iter().filter_map(marked).collect::<Vec<_>>(),
        [ONE_MACHINE, RUNBOOK, REPLICAS, UPGRADING, README, GUIDE]
    );
    let sessions_not_run = |page: &str, headings: &[&str]| -> usize {
        let marked = read(page).matches("```console\n").count();
        let run: usize = headings.iter().map(|heading| consoles(page, heading).len()).sum();
        marked - run
    };
    assert_eq!(sessions_not_run(README, &["A first session"]), 0);
    assert_eq!(sessions_not_run(GUIDE, &GUIDE_SESSIONS), 0);
    assert_eq!(sessions_not_run(ONE_MACHINE, &one_machine::SECTIONS), 0);
    assert_eq!(sessions_not_run(RUNBOOK, &runbook::SECTIONS), 0);
    // `cargo xtask faults` runs the sessions of the sections listed here. No other section of these
    // two pages may have a session.
    let replicas = ["From scratch to three replicas", "From SQLite to PostgreSQL"];
    assert_eq!(sessions_not_run(REPLICAS, &replicas), 0);
    let upgrades = ["One server, in a data directory", "Several servers, in PostgreSQL"];
    assert_eq!(sessions_not_run(UPGRADING, &upgrades), 0);
}

#[test]
fn the_readmes_session_with_a_new_store_works() {
    let [_, session] = consoles(README, "A first session").try_into().unwrap();
    CliSandbox::new().console(&Console { page: README, text: &session, setup: "", real: &[] });
}

#[test]
fn the_demo_suggests_commands_that_work_as_printed() {
    let sandbox = CliSandbox::new();
    let mut command = sandbox.command(&["demo", "--listen", "127.0.0.1:0"]);
    let server = ServerProcess::start(&mut command, &sandbox.path("log")).unwrap();
    let address = server.address().unwrap().to_string();
    let printed = server.printed();
    let commands: Vec<_> = printed.iter().filter_map(|line| line.strip_prefix("  curl ")).collect();
    assert_eq!(commands.len(), 7, "{printed:?}");
    for command in commands {
        assert!(command.starts_with(r"-iw '\n' "), "{command}");
        assert!(command.contains(&format!("http://{address}/")), "{command}");
    }
    let unban = printed.iter().find(|line| line.contains(" keys unban ")).unwrap();
    // The printed command must work although the program is not in `PATH`.
    let output = std::process::Command::new("/bin/sh").args(["-c", unban]).output().unwrap();
    assert!(output.status.success(), "{unban}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "needs curl: cargo xtask external-checks"]
fn with_curl_the_demo_answers_as_the_readme_shows() {
    let sandbox = CliSandbox::new();
    let [demo, _] = consoles(README, "A first session").try_into().unwrap();
    let mut command = sandbox.command(&["demo", "--listen", "127.0.0.1:0"]);
    let server = ServerProcess::start(&mut command, &sandbox.path("log")).unwrap();
    let key = server.printed().iter().find_map(|line| line.find("sto_live_").map(|at| &line[at..]));
    let key = key.unwrap().split_whitespace().next().unwrap();
    let real = [
        ("127.0.0.1:8080", server.address().unwrap().to_string()),
        ("sto_live_…", key.to_string()),
    ];
    sandbox.console(&Console { page: README, text: &demo, setup: "", real: &real });
}

const GUIDE_ORDERS: &str = "id,petId,quantity,shipDate,status\n\
                            1041,7,2,2026-11-20T09:30:00Z,shipped\n\
                            1042,7,1,,pending\n\
                            1043,9,3,,pending\n\
                            1047,7,2,2026-12-24T09:30:00Z,pending\n\
                            1051,7,1,,pending\n";

#[test]
#[ignore = "needs curl: cargo xtask external-checks"]
fn with_curl_the_api_answers_as_the_guide_shows() {
    let sandbox = CliSandbox::new();
    sandbox.run_with_input(&["orders", "import", "-"], GUIDE_ORDERS.as_bytes()).done();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let issued = sandbox.run(&["keys", "issue", "--account", "acme"]).done();
    let key = issued.split_whitespace().find(|word| word.starts_with("sto_live_")).unwrap();
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let real = [
        ("https://<host>", format!("http://{}", server.address().unwrap())),
        ("<API_KEY>", key.to_string()),
    ];
    // Run all sections as one session, because later sections use the variables and the
    // cancellations of earlier ones.
    let sessions = GUIDE_SESSIONS.map(|heading| consoles(GUIDE, heading).concat());
    sandbox.console(&Console { page: GUIDE, text: &sessions.concat(), setup: "", real: &real });
}

#[test]
fn json_may_be_shown_over_several_lines() {
    let run = |shown: &str| {
        let text = format!("$ echo '{{\"a\":1,\"b\":[2]}}'\n{shown}\n");
        CliSandbox::new().console(&Console { page: "a page", text: &text, setup: "", real: &[] });
    };
    run("{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
    let wrong = || run("{\n  \"a\": 1,\n  \"b\": [\n    3\n  ]\n}");
    assert!(std::panic::catch_unwind(wrong).is_err());
}

#[test]
fn a_wrong_session_fails() {
    let wrong = "$ store-orders accounts create acme --plan pro\ncreated account \"acme\": free…\n";
    let run = || {
        let console = Console { page: "a page", text: wrong, setup: "", real: &[] };
        CliSandbox::new().console(&console);
    };
    assert!(std::panic::catch_unwind(run).is_err());
}

fn sources(directory: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let tests = "\n#[cfg(test)]\nmod tests {";
            texts.push(text.split(tests).next().unwrap_or_default().to_string());
        }
    }
    texts
}

fn quoted_in_calls(text: &str, macro_name: &str) -> Vec<Vec<String>> {
    let starts = text.match_indices(macro_name).filter(|(at, _)| !text[..*at].ends_with('_'));
    let calls = starts.map(|(at, _)| {
        let rest = &text[at + macro_name.len()..];
        let end = rest.match_indices(')').map(|(end, _)| end);
        let closes = |end: &usize| {
            let before = &rest[..=*end];
            before.matches('"').count().is_multiple_of(2)
                && before.matches('(').count() < before.matches(')').count()
        };
        rest[..end.into_iter().find(closes).unwrap_or(0)].to_string()
    });
    calls.map(|call| call.split('"').skip(1).step_by(2).map(str::to_string).collect()).collect()
}

#[tokio::test]
async fn the_log_page_has_every_field_and_every_warning() {
    let page = read("src/handbook/log.md");
    let (mut fields, mut events) = (0, 0);
    for text in sources(&Path::new(ROOT).join("src")) {
        for level in ["crit!(", "error!(", "warn!(", "info!(", "debug!("] {
            for quoted in quoted_in_calls(&text, level) {
                let named = quoted.iter().skip(1);
                for field in named.filter(|name| text.contains(&format!("\"{name}\" =>"))) {
                    assert!(page.contains(&format!("`{field}`")), "field {field}");
                    fields += 1;
                }
                let event = quoted.first().map_or("", String::as_str);
                let is_warning = !["info!(", "debug!("].contains(&level);
                if is_warning && !event.is_empty() && !event.contains("{}") {
                    assert!(page.contains(&format!("`{event}`")), "event {event}");
                    events += 1;
                }
            }
        }
    }
    assert!(fields > 50 && events > 20, "{fields} {events}");
    let data = DataDir::temporary().unwrap();
    let server = data.serve(&[]).unwrap();
    reqwest::get(format!("{}/store/orders", server.base_url())).await.unwrap();
    server.signal(Signal::TERM).unwrap();
    let (_, log) = server.exited().await;
    let request = log.lines().find(|line| line.contains(r#""msg":"request""#)).unwrap();
    let request: serde_json::Value = serde_json::from_str(request).unwrap();
    for field in request.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{field}`")), "field {field}");
    }
    for refusal in ["no_key", "several_authorization_headers", "malformed_key", "unknown_key"] {
        assert!(page.contains(&format!("`{refusal}`")), "{refusal}");
    }
}
