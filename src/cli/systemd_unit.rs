//! `systemd-unit`: a unit file for this program, with no more rights than it
//! needs.

use super::Options;
use crate::config::{InForce, Origin, ServerConfig};
use anyhow::Context;
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

/// For what `serve` does after its own deadline: the counts and the log.
const AFTER_STOPPING: Duration = Duration::from_secs(10);

/// A port below this needs a right that the unit gives then.
const FIRST_FREE_PORT: u16 = 1024;

const UNIT: &str = "\
# Put this at /etc/systemd/system/store-orders.service, then:
#   systemctl daemon-reload && systemctl enable --now store-orders
# The store is in /var/lib/store-orders; the operator's commands find it with
#   --data-dir /var/lib/store-orders

[Unit]
Description=Store Orders, an orders API server
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart={command}
ExecReload=kill -HUP $MAINPID
TimeoutStopSec={stop_seconds}
Restart=on-failure
RestartSec=1

# A user of its own, who owns the state directory and nothing else.
DynamicUser=yes
StateDirectory=store-orders
StateDirectoryMode=0700
UMask=0077
# Whose members may read the TLS key file:
#SupplementaryGroups=ssl-cert

CapabilityBoundingSet={capabilities}
AmbientCapabilities={capabilities}
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged

[Install]
WantedBy=multi-user.target
";

/// Prints the unit; it calls `serve` with the flags that were given here.
pub(super) fn print(
    options: &Options,
    settings: &ServerConfig,
    in_force: &InForce,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let stop = (settings.stop_within + AFTER_STOPPING).as_secs();
    let low = settings.listen.port() != 0 && settings.listen.port() < FIRST_FREE_PORT;
    let unit = UNIT
        .replace("{command}", &command(options, in_force)?)
        .replace("{stop_seconds}", &stop.to_string())
        .replace("{capabilities}", if low { "CAP_NET_BIND_SERVICE" } else { "" });
    Ok(out.write_all(unit.as_bytes())?)
}

fn command(options: &Options, in_force: &InForce) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut command =
        format!("{} serve --data-dir %S/store-orders", quoted(&program.to_string_lossy()));
    let mut add = |flag: &str, value: &str| {
        // Writing to a text cannot fail.
        let _ = write!(command, " \\\n    --{flag} {}", quoted(value));
    };
    if let Some(config) = &options.config {
        let config = std::path::absolute(config).context("cannot tell where the file is")?;
        add("config", &config.to_string_lossy());
    }
    for setting in in_force.settings().iter().filter(|setting| setting.origin == Origin::Flag) {
        if setting.key == "data_dir" {
            anyhow::bail!(
                "the unit keeps its store in /var/lib/store-orders; leave --data-dir out"
            );
        }
        setting.texts().iter().for_each(|text| add(&setting.flag, text));
    }
    Ok(command)
}

/// A word as systemd reads it: what it would expand or split stays as it is.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_./:,+=@[]".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    let escaped =
        word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn systemd_expands_nothing_of_a_word() {
        assert_eq!(quoted("/usr/bin/store-orders"), "/usr/bin/store-orders");
        assert_eq!(quoted("a b"), "\"a b\"");
        assert_eq!(quoted("50%\"$HOME\\"), "\"50%%\\\"$$HOME\\\\\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
