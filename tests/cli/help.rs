//! Help, completions, man pages and the systemd unit.

use clap::{CommandFactory, Parser};
use std::time::Duration;
use store_orders::cli::Cli;
use store_orders::config::ServerConfig;
use testbed::CliSandbox;

/// Every command's names from the first below the program's.
fn commands() -> Vec<Vec<String>> {
    fn add(command: &clap::Command, above: &[String], all: &mut Vec<Vec<String>>) {
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let names = [above, &[sub.get_name().to_string()]].concat();
            add(sub, &names, all);
            all.push(names);
        }
    }
    let mut all = Vec::new();
    add(&Cli::command(), &[], &mut all);
    assert!(all.len() > 20, "{all:?}");
    all
}

#[test]
fn completions_know_every_command() {
    let sandbox = CliSandbox::new();
    // How each script offers a command.
    for (shell, offer) in [
        ("bash", ",NAME)"),
        ("zsh", "\n'NAME:"),
        ("fish", "-a \"NAME\""),
        ("elvish", " cand NAME '"),
        ("powershell", "::new('NAME', 'NAME',"),
    ] {
        let script = sandbox.run(&["completions", shell]).done();
        for name in commands().iter().flatten() {
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
    for names in commands() {
        let name = names.join("-");
        let file = sandbox.path("man1").join(format!("store-orders-{name}.1"));
        let text = std::fs::read_to_string(&file).expect(&name);
        assert!(text.contains(".SH SYNOPSIS") && !text.contains("192.0.2.1"), "{text}");
        for title in ["OPTIONS", "EXAMPLES", "\"EXIT STATUS\""] {
            assert_eq!(text.matches(&format!(".SH {title}\n")).count(), 1, "{title}: {text}");
        }
        let is_demo = name == "demo";
        for title in ["ENVIRONMENT", "FILES"] {
            assert_eq!(text.contains(&format!(".SH {title}\n")), !is_demo, "{title}: {text}");
        }
        if names.len() == 1 {
            let reference = format!("store\\-orders\\-{}(1)", name.replace('-', "\\-"));
            assert!(page.contains(&reference), "{reference} is not in {page}");
        }
    }
}

#[test]
fn version_and_help_say_what_scripts_need() {
    let sandbox = CliSandbox::new();
    let version = sandbox.run(&["--version"]).done();
    let api = store_orders_api::API_VERSION;
    assert_eq!(version, format!("store-orders {} (API {api})\n", env!("CARGO_PKG_VERSION")));
    let help = sandbox.run(&["--help"]).done();
    assert!(help.contains("Exit status: 0 success, 1 failure"), "{help}");
    for arguments in [&["--help"][..], &["keys", "find", "--help"], &["serve", "-h"]] {
        let help = sandbox.run(arguments).done();
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
        assert!(global.contains("--data-dir") && !own.contains("--data-dir"), "{help}");
    }
    let help = sandbox.run(&["serve", "--help"]).done();
    for part in ["[default: 127.0.0.1:8080]", "[env: STORE_ORDERS_LISTEN=]", "[default: 20s]"] {
        assert!(help.contains(part), "{part} is not in {help}");
    }
}

#[test]
fn a_demo_has_the_options_that_it_obeys() {
    let sandbox = CliSandbox::new();
    let help = sandbox.run(&["demo", "--help"]).done();
    let options: Vec<_> = help.split_whitespace().filter(|word| word.starts_with("--")).collect();
    assert_eq!(options, ["--listen", "--help", "--version"], "{help}");
    for arguments in
        [&["demo", "--data-dir", "x"][..], &["--json", "demo"], &["demo", "--limits-database=x"]]
    {
        let error = sandbox.run(arguments).usage();
        assert!(error.contains("demo takes no --"), "{error}");
    }
}

#[test]
fn the_unit_agrees_with_the_program() {
    let unit = CliSandbox::new().run(&["systemd-unit"]).done();
    let value = |key: &str| {
        let mut values = unit.lines().filter_map(|line| line.strip_prefix(&format!("{key}=")));
        values.next().unwrap_or_else(|| panic!("{key} is not in {unit}")).to_string()
    };
    // The server says when it is ready.
    assert_eq!(value("Type"), "notify");
    let command = value("ExecStart");
    assert!(Cli::try_parse_from(command.split(' ')).is_ok(), "{command}");
    let directory = format!("STORE_ORDERS_DATA_DIR=%S/{}", value("StateDirectory"));
    assert_eq!(value("Environment"), directory);

    // systemd must not kill a server that stops as it should.
    let stop_timeout = Duration::from_secs(value("TimeoutStopSec").parse().unwrap());
    assert!(stop_timeout > ServerConfig::default().stop_within);

    let serve = Cli::command().find_subcommand("serve").unwrap().clone();
    let known: Vec<String> = [Cli::command(), serve]
        .iter()
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()))
        .collect();
    let named: Vec<&str> = unit
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("STORE_ORDERS_"))
        .collect();
    assert!(named.len() > 5, "{named:?}");
    for variable in named {
        assert!(known.iter().any(|own| own == variable), "{variable} is no setting");
    }
}

#[test]
fn the_nginx_configuration_leads_to_the_default_address() {
    let configuration = CliSandbox::new().run(&["nginx-conf"]).done();
    let server = format!("\n        server {} ", ServerConfig::default().listen);
    assert_eq!(configuration.matches(&server).count(), 1, "{server} is not in {configuration}");
}
