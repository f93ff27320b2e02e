//! `systemd-unit` prints the unit of a server, or a template for several servers on one machine.

use clap::Args;

const UNIT: &str = include_str!("store-orders.service");

const TEMPLATE_HEADER: &str = "\
# Put the program at /usr/local/bin/store-orders and this file at
# /etc/systemd/system/store-orders@.service. For a server with the name NAME, write its settings to
# /etc/store-orders/NAME.environment: at least STORE_ORDERS_LISTEN and STORE_ORDERS_ADMIN_LISTEN,
# because two servers cannot have the same port. Then:
#   systemctl daemon-reload && systemctl enable --now store-orders@NAME
# The store is in /var/lib/store-orders-NAME. Other commands do not read this unit: run them as root
# with
#   --data-dir /var/lib/store-orders-NAME
";

#[derive(Args, Debug)]
pub struct SystemdUnitArgs {
    /// Print a template, for several servers on one machine
    #[arg(long)]
    template: bool,
}

impl SystemdUnitArgs {
    pub(super) fn text(&self) -> String {
        if self.template { template() } else { UNIT.to_string() }
    }
}

/// Returns the unit as a systemd template. Each instance of the template has its own user,
/// directory and settings file.
fn template() -> String {
    let (_, unit) = UNIT.split_once("\n\n").unwrap_or(("", UNIT));
    let unit = [
        // This replacement gives each instance its own user, state directory and data directory.
        ("store-orders\n", "store-orders-%i\n"),
        // Without `-`, systemd requires the file. Instances without settings would use the same
        // ports.
        ("EnvironmentFile=-/etc/store-orders/", "EnvironmentFile=/etc/store-orders/%i."),
        ("an orders API server\n", "an orders API server (%i)\n"),
    ]
    .into_iter()
    .fold(unit.to_string(), |unit, (one, each)| unit.replace(one, each));
    format!("{TEMPLATE_HEADER}\n{unit}")
}
