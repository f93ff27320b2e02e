//! Checks the handbook's example compose.yaml. Each service with our image must have the program's
//! version as its tag, and use only known options. Each server must also have valid settings and
//! use the program's health check.

use crate::tools::output;
use anyhow::{Context, ensure};
use saphyr::{LoadableYamlNode, Yaml};
use testbed::Program;

/// The beginning of the example in the handbook's page `containers`.
const BEGIN: &str = "```yaml\n# compose.yaml\n";

/// The path of the program in the image; the Dockerfile has the same path.
pub const PROGRAM: &str = "/usr/local/bin/store-orders";

/// The image's default command, which a service runs if it sets no command.
const DEFAULT_COMMAND: &str = "serve";

/// Checks all services of the example `compose.yaml` that run the image. At least one service must
/// run the server. `page` is the text of `containers.md`, which contains the example.
pub fn check(page: &str, program: &Program, version: &str) -> anyhow::Result<()> {
    let mut runs_server = false;
    for (name, service) in services(page, version)? {
        let (command, settings) = (command(&service), settings(&service)?);
        let context = || format!("{name} of compose.yaml in containers.md");
        check_options(&command, &settings, program).with_context(context)?;
        if command == [DEFAULT_COMMAND] {
            check_server(&service, settings, program).with_context(context)?;
            runs_server = true;
        }
    }
    ensure!(runs_server, "compose.yaml in containers.md runs no server");
    Ok(())
}

/// Checks that the help of the service's command lists the service's flags and `STORE_ORDERS_*`
/// variables.
fn check_options(
    command: &[&str],
    settings: &[(&str, &str)],
    program: &Program,
) -> anyhow::Result<()> {
    ensure!(!command.is_empty(), "the command must be a list");
    let (flags, words): (Vec<&str>, Vec<_>) =
        command.iter().partition(|word| word.starts_with("--"));
    let help = output(program.command().args(&words).arg("--help"))?;
    let program_settings = settings.iter().filter(|(name, _)| name.starts_with("STORE_ORDERS_"));
    let variables = program_settings.map(|(name, _)| format!("[env: {name}="));
    let flags = flags.iter().map(|flag| format!("{} ", flag.split('=').next().unwrap_or(flag)));
    for option in variables.chain(flags) {
        ensure!(help.contains(&option), "`{}` has no option {option}", command.join(" "));
    }
    Ok(())
}

/// Checks that the settings of a server are valid together, and that the service uses the program's
/// health check.
fn check_server(
    service: &Yaml<'_>,
    settings: Vec<(&str, &str)>,
    program: &Program,
) -> anyhow::Result<()> {
    // Paths of secrets exist only in a container, so a temporary file replaces them.
    let secret = tempfile::NamedTempFile::new()?;
    let settings = settings.into_iter().map(|(name, value)| {
        let is_secret = value.starts_with("/run/secrets/");
        (name, if is_secret { secret.path().as_os_str() } else { value.as_ref() })
    });
    output(program.command().args(["config", "check"]).envs(settings))?;
    let health = service.as_mapping_get("healthcheck").and_then(|of| of.as_mapping_get("test"));
    let health = health.map(words).unwrap_or_default();
    ensure!(health == ["CMD", PROGRAM, "health"], "the health check is {health:?}");
    Ok(())
}

/// Returns the services in the example that run the program's image, each with its name. Fails if a
/// service runs another version.
fn services<'p>(page: &'p str, version: &str) -> anyhow::Result<Vec<(String, Yaml<'p>)>> {
    let (_, rest) = page.split_once(BEGIN).context("containers.md has no compose.yaml")?;
    let (text, _) = rest.split_once("```").context("compose.yaml does not end")?;
    let documents = Yaml::load_from_str(text)?;
    let services = documents.first().and_then(|document| document.as_mapping_get("services"));
    let services = services.and_then(Yaml::as_mapping).context("compose.yaml has no services")?;
    let mut image_services = Vec::new();
    for (name, service) in services {
        let name = name.as_str().context("a service has no name")?;
        let image = service.as_mapping_get("image").and_then(Yaml::as_str).unwrap_or_default();
        if image.starts_with("store-orders") {
            let expected = format!("store-orders:{version}");
            ensure!(image == expected, "{name} runs {image}, but this is version {version}");
            image_services.push((name.to_string(), service.clone()));
        }
    }
    Ok(image_services)
}

fn command<'y>(service: &'y Yaml<'_>) -> Vec<&'y str> {
    service.as_mapping_get("command").map_or(vec![DEFAULT_COMMAND], words)
}

fn words<'y>(list: &'y Yaml<'_>) -> Vec<&'y str> {
    list.as_sequence().into_iter().flatten().filter_map(Yaml::as_str).collect()
}

fn settings<'y>(service: &'y Yaml<'_>) -> anyhow::Result<Vec<(&'y str, &'y str)>> {
    let environment = service.as_mapping_get("environment").and_then(Yaml::as_mapping);
    let texts = environment.into_iter().flatten();
    let texts = texts.map(|(name, value)| name.as_str().zip(value.as_str()));
    texts.collect::<Option<_>>().context("each variable must be text")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "text\n```yaml\n# compose.yaml\nservices:\n  db: { image: postgres:17 }\n  \
                        a:\n    image: store-orders:1.0.0\n    environment: &settings { X: y }\n  \
                        b:\n    image: store-orders:1.0.0\n    command: [migrate]\n    \
                        environment: *settings\n```\n";

    #[test]
    fn the_services_of_the_image_are_read() {
        let read = services(PAGE, "1.0.0").unwrap();
        let read: Vec<_> = read
            .iter()
            .map(|(name, service)| (name.as_str(), command(service), settings(service).unwrap()))
            .collect();
        let settings = || vec![("X", "y")];
        assert_eq!(read, [("a", vec!["serve"], settings()), ("b", vec!["migrate"], settings())]);
        assert!(services(PAGE, "1.1.0").unwrap_err().to_string().contains("this is version"));
        assert!(services("", "1.0.0").is_err());
    }

    #[test]
    fn the_example_of_the_handbook_is_for_this_version() {
        let page = include_str!("../../../src/handbook/containers.md");
        assert!(services(page, env!("CARGO_PKG_VERSION")).unwrap().len() >= 2);
    }
}
