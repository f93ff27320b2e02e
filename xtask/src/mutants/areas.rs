//! The areas that are mutated, and the tests from outside that each has to survive.
//! Which files belong to them stands in `.cargo/mutants.toml`.

/// Tests of a package, which run in seconds.
pub struct Suite {
    pub package: &'static str,
    /// Arguments of `cargo test`.
    pub arguments: &'static [&'static str],
}

/// A part of the code with its tests.
pub struct Area {
    pub name: &'static str,
    /// How the paths of its files begin.
    prefixes: &'static [&'static str],
    pub suites: &'static [Suite],
}

const fn outside(arguments: &'static [&'static str]) -> Suite {
    Suite { package: "store-orders", arguments }
}

/// The areas.
pub const AREAS: &[Area] = &[
    Area {
        name: "limits",
        prefixes: &["src/limits"],
        suites: &[outside(&[
            "--test=store_orders",
            "--",
            "limits::",
            "authentication",
            "server::metrics",
            "cli::accounts_and_keys",
            "cli::check",
        ])],
    },
    Area {
        name: "http",
        prefixes: &["src/http"],
        suites: &[outside(&[
            "--test=store_orders",
            "--",
            "authentication",
            "paths_and_methods",
            "docs",
            "get_pet",
            "list_orders",
            "cancel_order",
            "every_documented_answer",
            "contract_check",
            "server::metrics",
            "log_secrets",
            "server::admin",
            "limits::bans",
            "server::abandoned",
        ])],
    },
    Area {
        name: "orders",
        prefixes: &["src/orders"],
        suites: &[outside(&[
            "--test=store_orders",
            "--",
            "cancel_order",
            "list_orders",
            "durability",
            "server::metrics",
            "server::slow_readers",
            "every_documented_answer",
        ])],
    },
    Area {
        name: "keys",
        prefixes: &["src/keys", "src/key_cache"],
        suites: &[outside(&[
            "--test=store_orders",
            "--",
            "authentication",
            "last_used",
            "cli::accounts_and_keys",
            "cli::errors",
            "cli::config",
            "log_secrets",
            "server::metrics",
        ])],
    },
    Area {
        name: "store",
        prefixes: &["src/store"],
        suites: &[outside(&[
            "--test=store_orders",
            "--",
            "cli::",
            "durability",
            "cancel_order",
            "get_pet",
            "last_used",
            "authentication",
            "server::beside_commands",
            "server::one_per_store",
            "server::full_disk",
            "server::admin",
            "server::metrics",
        ])],
    },
    Area {
        name: "api",
        prefixes: &["api/"],
        suites: &[
            Suite { package: "xtask", arguments: &["--test=check"] },
            outside(&["--lib"]),
            outside(&[
                "--test=store_orders",
                "--",
                "docs",
                "every_documented_answer",
                "contract_check",
                "paths_and_methods",
                "get_pet",
                "cancel_order",
                "list_orders",
                "limits::plans",
                "limits::bans",
                "authentication",
                "server::metrics",
            ]),
        ],
    },
];

/// The name of the area of a mutant, by its name; empty if it has none.
pub fn area_of(mutant: &str) -> &'static str {
    let owns = |area: &&Area| area.prefixes.iter().any(|prefix| mutant.starts_with(prefix));
    AREAS.iter().find(owns).map_or("", |area| area.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn every_file_that_is_mutated_belongs_to_an_area() {
        let configuration = Repository::here().read(".cargo/mutants.toml").unwrap();
        let (_, examined) = configuration.split_once("examine_globs = [").unwrap();
        let (examined, _) = examined.split_once(']').unwrap();
        let files: Vec<&str> = examined.split('"').skip(1).step_by(2).collect();
        assert!(files.len() > 10, "{files:?}");
        for file in files {
            assert_ne!(area_of(file), "", "{file}");
        }
    }
}
