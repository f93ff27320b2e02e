//! What shells, `man`, systemd and people are told of the command line.

use clap::CommandFactory;
use store_orders::cli::Cli;
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
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell]).done();
        for name in commands().iter().flatten() {
            assert!(script.contains(name.as_str()), "{shell} does not know {name}");
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
    let api = store_orders_api::document::API_VERSION;
    assert_eq!(version, format!("store-orders {} (API {api})\n", env!("CARGO_PKG_VERSION")));
    let help = sandbox.run(&["--help"]).done();
    assert!(help.contains("Exit status: 0 done, 1 not done"), "{help}");
    let help = sandbox.run(&["serve", "--help"]).done();
    for part in ["[default: 127.0.0.1:8080]", "[env: STORE_ORDERS_LISTEN=]", "[default: 20s]"] {
        assert!(help.contains(part), "{part} is not in {help}");
    }
}

#[test]
fn the_unit_calls_the_server_with_the_flags_given() {
    let sandbox = CliSandbox::new();
    sandbox.write("a b%.toml", "stop_within = \"50s\"\n");
    let flags = ["--config", "a b%.toml", "--trusted-proxy", "10.0.0.0/8"];
    let unit = sandbox.run(&[&["systemd-unit"][..], &flags].concat()).done();
    let program = env!("CARGO_BIN_EXE_store-orders");
    let file = sandbox.path("").canonicalize().unwrap().join("a b%%.toml");
    for line in [
        "Type=notify".to_string(),
        format!("ExecStart={program} serve --data-dir %S/store-orders \\"),
        format!("    --config \"{}\" \\", file.display()),
        "    --trusted-proxy 10.0.0.0/8".to_string(),
        "TimeoutStopSec=60".to_string(),
        "CapabilityBoundingSet=".to_string(),
        "NoNewPrivileges=yes".to_string(),
        "ProtectSystem=strict".to_string(),
    ] {
        assert!(unit.lines().any(|own| own == line), "{line} is not in {unit}");
    }
    let low = sandbox.run(&["systemd-unit", "--listen", "0.0.0.0:443"]).done();
    assert!(low.contains("\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n"), "{low}");
    let error = sandbox.run(&["systemd-unit", "--data-dir", "x"]).error();
    assert!(error.contains("leave --data-dir out"), "{error}");
}
