//! Boots a container with systemd and the host's distribution. Runs commands from the handbook
//! there, and checks that each prints what the handbook shows.

use crate::scenario::{Scenario, Tools, scenario};
use anyhow::Context;
use testbed::{Booted, Console, Report, WAIT_TIMEOUT, consoles, wait_for};

const ONE_MACHINE: &str = "src/handbook/one-machine.md";
const OPERATING: &str = "src/handbook/operating.md";
const RUNBOOK: &str = "src/handbook/runbook.md";
const UPGRADING: &str = "src/handbook/upgrading.md";

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("systemd::one_machine", one_machine).untimed(),
        scenario!("systemd::damaged_store", damaged_store).untimed(),
        scenario!("systemd::unit", unit).untimed(),
    ]
}

/// A booted machine. The program is in root's home directory, where the handbook unpacks a release.
struct Machine(Booted);

impl Machine {
    fn boot(tools: &Tools) -> anyhow::Result<Machine> {
        let program = tools.program.path();
        let target = program.ancestors().nth(2).context("the program is in target/PROFILE")?;
        let machine = Machine(Booted::boot(&target.join("booted"))?);
        let archive = "/root/store-orders-2.0.0-linux-x86_64/bin/store-orders";
        machine.0.write(archive, std::fs::read(program)?)?;
        machine.0.run(&format!("chmod 0755 {archive}"))?;
        Ok(machine)
    }

    fn with_unit(tools: &Tools, settings: &str) -> anyhow::Result<Machine> {
        let machine = Machine::boot(tools)?;
        let install = "set -e; install store-orders-*-linux-x86_64/bin/store-orders /usr/local/bin/
                       store-orders systemd-unit > /etc/systemd/system/store-orders.service
                       systemctl daemon-reload";
        machine.0.run(install)?;
        machine.0.write("/etc/store-orders/environment", settings)?;
        Ok(machine)
    }

    /// Runs a command of the operator on the unit's store.
    fn operate(&self, command: &str) -> anyhow::Result<String> {
        self.0.run(&format!("{SETUP}\n{command}"))
    }

    /// Creates an account with a key. Returns the key's id and the key.
    fn issue_key(&self, account: &str, plan: &str) -> anyhow::Result<(String, String)> {
        self.operate(&format!("store-orders accounts create {account} --plan {plan}"))?;
        self.issue_another(account)
    }

    fn issue_another(&self, account: &str) -> anyhow::Result<(String, String)> {
        let issued =
            self.operate(&format!("store-orders keys issue --account {account} --json"))?;
        let issued: serde_json::Value = serde_json::from_str(&issued)?;
        let text = |name: &str| issued.get(name).and_then(|text| text.as_str().map(String::from));
        text("id").zip(text("key")).with_context(|| format!("no key: {issued}"))
    }

    fn console(&self, page: &str, text: &str, setup: &str, real: &[(&str, String)]) {
        let setup = format!("{SETUP}\n{setup}");
        self.0.console(&Console { page, text, setup: &setup, real });
    }

    async fn wait_for(&self, command: &str) -> anyhow::Result<String> {
        let succeeds = async || self.operate(command).ok();
        wait_for(command, WAIT_TIMEOUT, succeeds).await
    }
}

/// The line that one-machine.md puts into root's `~/.profile`.
const SETUP: &str = "export STORE_ORDERS_DATA_DIR=/var/lib/store-orders";

fn sessions<const COUNT: usize>(page: &str, section: &str) -> anyhow::Result<[String; COUNT]> {
    let blocks = consoles(page, section);
    blocks
        .try_into()
        .map_err(|blocks: Vec<_>| anyhow::anyhow!("{section}: {} blocks", blocks.len()))
}

/// Returns the path and content of each file in a section of the page. A file is a code block that
/// has an absolute path as a comment. The first such comment names the file.
fn files(page: &str, heading: &str) -> anyhow::Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page),
    )?;
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).context("no such heading")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("\n```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.split_once('\n')).map(|(_, block)| block);
    let path =
        |block: &str| block.lines().find_map(|line| line.strip_prefix("# /").map(str::to_string));
    Ok(blocks
        .filter_map(|block| Some((format!("/{}", path(block)?), format!("{block}\n"))))
        .collect())
}

/// Runs the commands of the handbook's page for one machine. The commands install the program on a
/// new machine, upgrade the program, and go back to the previous version.
async fn one_machine(tools: &Tools, _: &mut Report) -> anyhow::Result<()> {
    let machine = Machine::boot(tools)?;
    let run = |text: &str, real: &[(&str, String)]| machine.console(ONE_MACHINE, text, "", real);
    for section in ["The program", "The user and the server", "TLS and nginx"] {
        consoles(ONE_MACHINE, section).iter().for_each(|session| run(session, &[]));
    }
    let [account, list] = sessions(ONE_MACHINE, "The first account and its key")?;
    run(&account, &[]);
    run(&list, &[("sto_live_…", machine.issue_another("acme")?.1)]);
    let backup = files(OPERATING, "Scheduled backups")?;
    let prometheus = files(ONE_MACHINE, "Alerts")?;
    for (path, content) in backup.iter().chain(&prometheus) {
        machine.0.write(path, content)?;
    }
    for section in ["Nightly backups", "Alerts", "Upgrades"] {
        consoles(ONE_MACHINE, section).iter().for_each(|session| run(session, &[]));
    }
    machine.0.run("amtool check-config /etc/prometheus/alertmanager.yml")?;
    machine.0.run("systemctl is-active store-orders nginx prometheus prometheus-alertmanager")?;
    let security = "systemd-analyze security --threshold=20 store-orders store-orders-backup";
    machine.0.run(security)?;
    let [back] = sessions(UPGRADING, "One server, in a data directory")?;
    machine.console(UPGRADING, &back, "", &[]);
    machine.0.run("store-orders health")?;
    Ok(())
}

/// Restores a damaged store as the runbook says. The restore must not replace the symbolic link
/// that systemd makes for `DynamicUser=`.
async fn damaged_store(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let machine = Machine::with_unit(tools, "")?;
    // The first start creates the data directory. Stop the server before the import. While a server
    // runs, an import makes several changes, but the runbook's example shows the import as one
    // change.
    machine.0.run("systemctl start store-orders && systemctl stop store-orders")?;
    machine.0.run("mkdir /var/lib/store-orders-backups")?;
    machine.operate(
        "(echo id,petId,quantity; seq --format '%.0f,7,1' 2000) | store-orders orders import -",
    )?;
    let (_, key) = machine.issue_key("acme", "business")?;
    let (partner, _) = machine.issue_key("old-partner", "free")?;
    machine
        .operate("store-orders backup /var/lib/store-orders-backups/2026-11-24T021500Z.sqlite")?;
    machine.operate(&format!("store-orders keys revoke {partner}"))?;
    machine.issue_key("newcorp", "free")?;
    machine.0.run("systemctl start store-orders")?;
    for id in [5, 6] {
        machine.0.run(&format!(
            "curl --silent --fail --request DELETE --header 'Authorization: Bearer {key}' \
             http://127.0.0.1:8080/v1/store/orders/{id}"
        ))?;
    }
    machine.wait_for("store-orders keys list --json | grep usedAt").await?;
    machine.0.run("systemctl stop store-orders")?;
    // Hide the index `orders_by_change` from SQLite, change an order, and restore the index. The
    // index then no longer matches the table.
    for damage in [
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'orders_by_change';
         PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'orders_by_change'",
        "UPDATE orders SET change_number = 3 WHERE id = 7",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept",
    ] {
        machine.0.run(&format!(
            "sqlite3 -cmd '.dbconfig defensive off' /var/lib/store-orders/store.sqlite \"{damage}\""
        ))?;
    }
    machine.0.run("systemctl start store-orders")?;

    let [damaged, restored, compared, log, redone, started, over] =
        sessions(RUNBOOK, "StoreOrdersDamaged")?;
    let run = |text: &str, setup: &str, real: &[(&str, String)]| {
        machine.console(RUNBOOK, text, setup, real);
    };
    run(&damaged, "", &[]);
    run(&restored, "", &[]);
    run(&compared, "", &[("key_GpZ7NzGWTPL8", partner)]);
    run(&log, "journalctl --unit store-orders --output cat > server.log", &[]);
    run(&redone, "", &[]);
    run(&started, "", &[]);
    machine.wait_for("store-orders check | grep '^counts'").await?;
    run(&over, "", &[]);
    let link = machine.0.run("readlink /var/lib/store-orders")?;
    report.expect(link.trim() == "private/store-orders", || format!("the directory is {link}"));
    let owners = machine.0.run(
        "cd /var/lib/private/store-orders && find . -not -uid $(stat --format %u .) -printf '%p '",
    )?;
    report.expect(owners.is_empty(), || format!("files of another owner: {owners}"));
    Ok(())
}

/// Checks that the unit's server waits for PostgreSQL, gets its secrets and loses no log line.
/// Checks that systemd keeps restarting a failing server, and that a second server can run beside
/// the first.
async fn unit(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let settings = "STORE_ORDERS_STORE=postgres://store@127.0.0.1:1/orders\n";
    let machine = Machine::with_unit(tools, settings)?;
    for (path, content) in files(OPERATING, "Secrets")? {
        machine.0.write(&path, content)?;
    }
    machine.0.write("/etc/store-orders/store-password", "hidden\n")?;
    machine.0.run(
        "chmod 0600 /etc/store-orders/store-password && systemctl daemon-reload && \
         systemctl start store-orders",
    )?;
    let unready = machine.0.run("store-orders health 2>&1; true")?;
    report.expect(unready.contains("Connection refused"), || unready.clone());
    let log = "journalctl --unit store-orders --output cat";
    machine.wait_for(&format!("{log} | grep 'store not reached'")).await?;
    let warned = machine.0.run(&format!("{log} | grep 'every user can read'; true"))?;
    report.expect(warned.is_empty(), || warned.clone());

    machine.0.write("/etc/store-orders/environment", "STORE_ORDERS_LISTEN=nonsense\n")?;
    machine.0.run("systemctl restart store-orders; true")?;
    // By default, systemd gives up after five starts. Wait for more restarts than that.
    let restarts = "test $(systemctl show --property NRestarts --value store-orders) -ge 6";
    machine.wait_for(restarts).await?;
    machine.0.write("/etc/store-orders/environment", "")?;
    machine.wait_for("systemctl is-active store-orders").await?;
    machine.wait_for("store-orders health").await?;

    let requests = 12_000;
    machine.0.run(&format!(
        "curl --silent --output /dev/null 'http://127.0.0.1:8080/?[1-{requests}]'"
    ))?;
    let counted = format!("test $({log} | grep --count '\"msg\":\"request\"') -eq {requests}");
    machine.wait_for(&counted).await.context("journald dropped lines")?;

    machine
        .0
        .run("store-orders systemd-unit --template > /etc/systemd/system/store-orders@.service")?;
    for (path, content) in files(OPERATING, "Several servers on one machine")? {
        machine.0.write(&path, content)?;
    }
    machine.0.run("systemctl daemon-reload && systemctl enable --now store-orders@staging")?;
    let status = "store-orders status --data-dir /var/lib/store-orders-staging";
    let status = machine.0.run(status)?;
    report.expect(status.contains("127.0.0.1:8180, admin 127.0.0.1:8181"), || status.clone());
    machine.0.run("systemd-analyze security --threshold=20 store-orders@staging")?;
    Ok(())
}
