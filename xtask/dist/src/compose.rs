//! The example compose.yaml of the handbook, held against the program: it parses, and names
//! only options that the program has.

use crate::tools::output;
use anyhow::{Context, bail};
use saphyr::{LoadableYamlNode, Yaml};
use testbed::Program;

/// How the block begins in the page.
const BEGIN: &str = "```yaml\n# compose.yaml\n";

/// The program in the image, as the Dockerfile names it.
pub const PROGRAM: &str = "/usr/local/bin/store-orders";

/// What an image runs unless its service says otherwise.
const DEFAULT_COMMAND: &str = "serve";

/// A service that runs the image.
#[derive(Debug, PartialEq, Eq)]
struct Service {
    name: String,
    command: Vec<String>,
    settings: Vec<(String, String)>,
    health: Vec<String>,
}

/// Fails if the example does not fit this program and version.
pub fn check(readme: &str, program: &Program, version: &str) -> anyhow::Result<()> {
    let services = services(readme, version).context("compose.yaml in containers.md")?;
    if !services.iter().any(|service| service.command == [DEFAULT_COMMAND]) {
        bail!("compose.yaml in containers.md runs no server");
    }
    for service in &services {
        check_service(service, program)
            .with_context(|| format!("{} of compose.yaml in containers.md", service.name))?;
    }
    Ok(())
}

fn check_service(service: &Service, program: &Program) -> anyhow::Result<()> {
    let (flags, words): (Vec<_>, Vec<_>) =
        service.command.iter().partition(|word| word.starts_with("--"));
    let help = output(program.command().args(&words).arg("--help"))?;
    for (name, _) in service.settings.iter().filter(|(name, _)| name.starts_with("STORE_ORDERS_")) {
        if !help.contains(&format!("[env: {name}=")) {
            bail!("{name} is no setting of `{}`", service.command.join(" "));
        }
    }
    for flag in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        if !help.contains(&format!("{name} ")) {
            bail!("{name} is no option of `{}`", service.command.join(" "));
        }
    }
    if service.command == [DEFAULT_COMMAND] {
        // Where the secrets are only in a container.
        let secret = tempfile::NamedTempFile::new()?;
        let settings = service.settings.iter().map(|(name, value)| {
            let is_secret = value.starts_with("/run/secrets/");
            (name, if is_secret { secret.path().as_os_str() } else { value.as_ref() })
        });
        output(program.command().args(["config", "check"]).envs(settings))?;
        if service.health != ["CMD", PROGRAM, "health"] {
            bail!("the health check is {:?}", service.health);
        }
    }
    Ok(())
}

/// The services of the example that run the image of this version.
fn services(readme: &str, version: &str) -> anyhow::Result<Vec<Service>> {
    let (_, rest) = readme.split_once(BEGIN).context("it is missing")?;
    let (text, _) = rest.split_once("```").context("it does not end")?;
    let documents = Yaml::load_from_str(text)?;
    let services = documents.first().and_then(|document| document.as_mapping_get("services"));
    let services = services.and_then(Yaml::as_mapping).context("it has no services")?;
    let mut ours = Vec::new();
    for (name, service) in services {
        let name = name.as_str().context("a service has a name")?.to_string();
        let image = service.as_mapping_get("image").and_then(Yaml::as_str);
        match image.with_context(|| format!("{name} has no image"))? {
            image if image == format!("store-orders:{version}") => {}
            image if image.starts_with("store-orders") => {
                bail!("{name} runs {image}, but this is version {version}")
            }
            _ => continue,
        }
        let command = match service.as_mapping_get("command") {
            Some(command) => words(command)?,
            None => vec![DEFAULT_COMMAND.to_string()],
        };
        let health = service.as_mapping_get("healthcheck");
        let health = health.and_then(|health| health.as_mapping_get("test"));
        ours.push(Service {
            settings: settings(service)?,
            health: health.map(words).transpose()?.unwrap_or_default(),
            name,
            command,
        });
    }
    Ok(ours)
}

fn words(list: &Yaml<'_>) -> anyhow::Result<Vec<String>> {
    let list = list.as_sequence().context("a command must be a list")?;
    list.iter().map(|word| Ok(word.as_str().context("a word must be text")?.to_string())).collect()
}

fn settings(service: &Yaml<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let Some(environment) = service.as_mapping_get("environment") else { return Ok(Vec::new()) };
    let environment = environment.as_mapping().context("the environment must be a mapping")?;
    let texts = environment.iter().map(|(name, value)| name.as_str().zip(value.as_str()));
    texts
        .map(|both| both.map(|(name, value)| (name.to_string(), value.to_string())))
        .collect::<Option<_>>()
        .context("each variable must be text")
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "text\n```yaml\n# compose.yaml\nservices:\n  db: { image: postgres:17 }\n  \
                          a:\n    image: store-orders:1.0.0\n    environment: &settings { X: y }\n  \
                          b:\n    image: store-orders:1.0.0\n    command: [migrate]\n    \
                          environment: *settings\n```\n";

    #[test]
    fn the_services_of_the_image_are_read() {
        let service = |name: &str, command: &str| Service {
            name: name.to_string(),
            command: vec![command.to_string()],
            settings: vec![("X".to_string(), "y".to_string())],
            health: Vec::new(),
        };
        let read = services(README, "1.0.0").unwrap();
        assert_eq!(read, [service("a", "serve"), service("b", "migrate")]);
        assert!(services(README, "1.1.0").unwrap_err().to_string().contains("this is version"));
        assert!(services("", "1.0.0").is_err());
    }

    #[test]
    fn the_example_of_the_handbook_is_for_this_version() {
        let page = include_str!("../../../src/handbook/containers.md");
        assert!(services(page, env!("CARGO_PKG_VERSION")).unwrap().len() >= 2);
    }
}
