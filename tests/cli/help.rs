//! Tests of the help, the completions and the man pages, and of the systemd units and nginx
//! configurations that commands print.

use crate::cli::{commands, name_of};
use clap::Parser;
use std::time::Duration;
use store_orders::cli::Cli;
use store_orders::config::ServerConfig;
use testbed::{CliSandbox, str};

/// Commands whose help leaves out the global options, because they use neither settings nor the
/// operator's store.
const WITHOUT_GLOBAL_OPTIONS: [&str; 9] = [
    "store-orders demo",
    "store-orders config default",
    "store-orders systemd-unit",
    "store-orders nginx-conf",
    "store-orders handbook",
    "store-orders alerts",
    "store-orders dashboard",
    "store-orders completions",
    "store-orders man",
];

#[test]
fn help_fits_into_80_columns_and_examples_can_be_pasted() {
    for command in commands() {
        let mut command = command.term_width(80);
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = command.render_long_help().to_string();
        let name = name_of(&command);
        // Users paste the examples at the end of the help, so clap must not have wrapped these
        // lines.
        assert!(help.trim_end().ends_with(&*after), "{name}: {help}");
        let too_long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(too_long, None, "{name}");
        let mut examples = after.lines().skip_while(|line| !line.starts_with("Example"));
        let is_plural = examples.next() == Some("Examples:");
        let examples = examples.take_while(|line| line.starts_with("  "));
        let begun = examples.filter(|line| !line.starts_with("    ")).collect::<Vec<_>>();
        assert!(begun.iter().all(|line| line.contains("store-orders ")), "{name}: {begun:?}");
        assert_eq!(begun.len() > 1, is_plural, "{name}: {begun:?}");
        if WITHOUT_GLOBAL_OPTIONS.contains(&name) {
            let shown = ["--json", "--data-dir", "Global options"];
            assert!(shown.iter().all(|shown| !help.contains(shown)), "{help}");
            continue;
        }
        if name == "store-orders openapi" {
            assert!(help.contains("--config") && !help.contains("--data-dir"), "{help}");
            continue;
        }
        let global = help.split_once("\nGlobal options:\n").expect(name).1;
        assert!(!global.contains("--help") && global.contains("--json"), "{name}: {help}");
    }
}

#[test]
fn completions_offer_every_command() {
    let sandbox = CliSandbox::new();
    // `offer` is the text with which the completion script of a shell offers the command NAME.
    for (shell, offer) in [
        ("bash", ",NAME)"),
        ("zsh", "\n'NAME:"),
        ("fish", "-a \"NAME\""),
        ("elvish", " cand NAME '"),
        ("powershell", "::new('NAME', 'NAME',"),
    ] {
        let script = sandbox.run(&["completions", shell]).done();
        for command in &commands()[1..] {
            let name = command.get_name();
            assert!(script.contains(&offer.replace("NAME", name)), "{shell} does not know {name}");
        }
        assert!(script.contains("--listen") || script.contains("-l listen"), "{shell}");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let sandbox = CliSandbox::new();
    let page = sandbox.run_with(&["man"], &[("STORE_ORDERS_LISTEN", "192.0.2.1:7")]).done();
    assert!(page.contains(".TH store-orders 1"), "{page}");
    sandbox.run_with(&["man", "--into", "man1"], &[("STORE_ORDERS_LISTEN", "192.0.2.1:7")]).done();
    for command in commands() {
        let name = name_of(&command).replace(' ', "-");
        let file = sandbox.path("man1").join(format!("{name}.1"));
        let text = std::fs::read_to_string(&file).expect(&name);
        assert!(!text.contains("192.0.2.1"), "{text}");
        for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"GLOBAL OPTIONS\"", "EXTRA"] {
            let has_none = WITHOUT_GLOBAL_OPTIONS.contains(&name_of(&command));
            let is_shown = usize::from(!has_none || !title.contains("GLOBAL"));
            let shown = text.matches(&format!(".SH {title}\n")).count();
            assert_eq!(shown, is_shown, "{title}: {text}");
        }
        for command in command.get_subcommands() {
            let reference = format!("{}(1)", name_of(command).replace([' ', '-'], "\\-"));
            assert!(text.contains(&reference), "{reference} is not in {text}");
        }
    }
}

#[test]
fn version_and_help_say_what_scripts_need() {
    let sandbox = CliSandbox::new();
    let version = sandbox.run(&["--version"]).done();
    let [v1, v2] = store_orders_api::documents::DOCUMENTS.map(|document| document.version);
    let program = env!("CARGO_PKG_VERSION");
    assert_eq!(version, format!("store-orders {program} (API documents {v1} and {v2})\n"));
    let help = sandbox.run(&["--help"]).done();
    assert!(help.contains("Exit status:\n  0    success\n  1    failure;"), "{help}");
    for arguments in [&["--help"][..], &["keys", "find", "--help"], &["serve", "-h"]] {
        let help = sandbox.run(arguments).done();
        assert!(!help.contains('\u{1b}'), "colours are for terminals: {help}");
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
        assert!(global.contains("--data-dir") && !own.contains("--data-dir"), "{help}");
    }
    let help = sandbox.run(&["serve", "--help"]).done();
    for part in ["[default: 127.0.0.1:8080]", "[env: STORE_ORDERS_LISTEN=]", "[default: 20s]"] {
        assert!(help.contains(part), "{part} is not in {help}");
    }
}

#[test]
fn a_demo_refuses_the_options_of_a_store() {
    CliSandbox::new().session(str![[r#"
$ store-orders demo --data-dir x
(2) error: demo takes no --data-dir: it serves a store of its own, which it deletes
$ store-orders --json demo
{"error":{"code":"invalid_command_line","message":"demo takes no --json: it serves a store of its own, which it deletes"}}
(2) error: demo takes no --json: it serves a store of its own, which it deletes
$ store-orders demo --limits-database=x
(2) error: demo takes no --limits-database: it serves a store of its own, which it deletes
"#]]);
}

#[test]
fn the_systemd_unit_agrees_with_the_program() {
    let unit = CliSandbox::new().run(&["systemd-unit"]).done();
    let value = |key: &str| {
        let mut values = unit.lines().filter_map(|line| line.strip_prefix(&format!("{key}=")));
        values.next().unwrap_or_else(|| panic!("{key} is not in {unit}")).to_string()
    };
    // With this type, systemd waits until the server reports that it is ready.
    assert_eq!(value("Type"), "notify");
    let command = value("ExecStart");
    assert!(Cli::try_parse_from(command.split(' ')).is_ok(), "{command}");
    let directory = format!("STORE_ORDERS_DATA_DIR=%S/{}", value("StateDirectory"));
    assert_eq!(value("Environment"), directory);

    // The value 0 disables systemd's limit of restarts and journald's rate limit of log lines.
    assert_eq!(
        (value("StartLimitIntervalSec"), value("LogRateLimitIntervalSec")),
        ("0".into(), "0".into())
    );

    // systemd must not kill a server during a normal shutdown.
    let stop_timeout = Duration::from_secs(value("TimeoutStopSec").parse().unwrap());
    assert!(stop_timeout > ServerConfig::default().shutdown_timeout);

    let commands = commands();
    let variables: Vec<String> = commands
        .iter()
        .filter(|command| name_of(command) == "store-orders serve")
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()))
        .collect();
    let named: Vec<&str> = unit
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("STORE_ORDERS_"))
        .collect();
    assert!(named.len() > 5, "{named:?}");
    for variable in named {
        assert!(variables.iter().any(|name| name == variable), "{variable} is not a setting");
    }
}

/// Two servers on one machine must not share a file, a directory or a user.
#[test]
fn the_template_unit_names_its_instance_in_each_path() {
    let sandbox = CliSandbox::new();
    let unit = sandbox.run(&["systemd-unit"]).done();
    let template = sandbox.run(&["systemd-unit", "--template"]).done();
    let settings = |unit: &str| -> Vec<String> {
        let lines = unit.lines().filter(|line| !line.starts_with('#') && line.contains('='));
        lines.map(str::to_string).collect()
    };
    let (unit, template) = (settings(&unit), settings(&template));
    assert_eq!(unit.len(), template.len());
    let changed: Vec<_> = unit.iter().zip(&template).filter(|(one, each)| one != each).collect();
    let changed: Vec<_> = changed.into_iter().map(|(_, each)| each.as_str()).collect();
    assert_eq!(
        changed,
        [
            "Description=Store Orders, an orders API server (%i)",
            "Environment=STORE_ORDERS_DATA_DIR=%S/store-orders-%i",
            "EnvironmentFile=/etc/store-orders/%i.environment",
            "User=store-orders-%i",
            "StateDirectory=store-orders-%i",
        ]
    );
}

/// Compares only the two outputs. The test `with_curl_and_nginx_one_machine_is_set_up_from_nothing`
/// runs `nginx -t` on the site within Debian's configuration.
#[test]
fn the_nginx_site_has_the_same_server_as_the_whole_configuration() {
    let sandbox = CliSandbox::new();
    let [whole, site] = [&["nginx-conf"][..], &["nginx-conf", "--site"]]
        .map(|arguments| sandbox.run(arguments).done());
    let site = site.split_once("\n\n").unwrap().1;
    let indented: String = site.lines().map(|line| format!("    {line}\n")).collect();
    let indented = indented.replace("    \n", "\n");
    assert!(whole.ends_with(&format!("\nhttp {{\n{indented}}}\n")), "{site}");
    assert!(
        site.contains("\nserver {\n    listen 443 ssl") && site.contains("\nupstream "),
        "{site}"
    );
}

#[test]
fn options_that_a_command_ignores_are_still_accepted() {
    let sandbox = CliSandbox::new();
    let alerts = sandbox.run(&["alerts"]).done();
    assert_eq!(sandbox.run(&["alerts", "--data-dir", "x"]).done(), alerts);
    assert_eq!(sandbox.run(&["--data-dir", "x", "alerts", "--json"]).done(), alerts);
    sandbox.session(str![[r#"
$ store-orders handbook runbook Nothing --json > /dev/null 2> /dev/null
(1)
"#]]);
}

#[test]
fn the_nginx_configuration_forwards_to_the_default_address() {
    let configuration = CliSandbox::new().run(&["nginx-conf"]).done();
    let server = format!("\n        server {} ", ServerConfig::default().listen);
    // The upstream lists the server twice, the second time as its own backup.
    assert_eq!(configuration.matches(&server).count(), 2, "{server} is not in {configuration}");
}
