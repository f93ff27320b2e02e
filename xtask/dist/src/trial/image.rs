//! Reads and unpacks the image as a container engine does.

use crate::tools::output;
use anyhow::Context;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

pub struct Image {
    /// The image's `Entrypoint`, followed by its `Cmd`.
    pub command: Vec<String>,
    /// The health check: its kind, such as `CMD`, followed by its command line.
    pub health: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// The user and group, such as `65532:65532`.
    pub user: String,
    files: TempDir,
    layers: Vec<String>,
}

impl Image {
    /// Reads an image archive in Docker's format.
    pub fn read(path: &Path) -> anyhow::Result<Image> {
        let files = tempfile::tempdir()?;
        output(Command::new("tar").arg("-xf").arg(path).arg("-C").arg(files.path()))?;
        let json = |name: &str| -> anyhow::Result<Value> {
            Ok(serde_json::from_slice(&std::fs::read(files.path().join(name))?)?)
        };
        let manifest = json("manifest.json")?;
        let name = manifest.pointer("/0/Config").and_then(Value::as_str);
        let configuration = json(name.context("no configuration")?)?;
        let texts = |value: &Value, pointer: &str| -> Vec<String> {
            let list = value.pointer(pointer).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_string).collect()
        };
        let config_list = |name: &str| texts(&configuration, &format!("/config/{name}"));
        let split = |text: String| {
            text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()))
        };
        let user = configuration.pointer("/config/User").and_then(Value::as_str);
        Ok(Image {
            command: [config_list("Entrypoint"), config_list("Cmd")].concat(),
            health: config_list("Healthcheck/Test"),
            environment: config_list("Env").into_iter().filter_map(split).collect(),
            user: user.context("no user")?.to_string(),
            layers: texts(&manifest, "/0/Layers"),
            files,
        })
    }

    /// Unpacks the layers into a directory. The files keep their owners only if root runs this.
    pub fn unpack(&self, directory: &Path) -> anyhow::Result<()> {
        for layer in &self.layers {
            let mut tar = Command::new("tar");
            tar.args(["--extract", "--preserve-permissions", "--numeric-owner", "--file"]);
            tar.arg(self.files.path().join(layer)).arg("--directory").arg(directory);
            output(&mut tar).context("the layer cannot be unpacked")?;
        }
        Ok(())
    }
}
