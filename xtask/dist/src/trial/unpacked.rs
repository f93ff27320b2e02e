//! An image file, read as a container engine does: by its digests.

use crate::archive::sha256;
use anyhow::{Context, bail};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use tar::Archive;

/// An image.
pub struct Image {
    /// The command line that it runs.
    pub command: Vec<String>,
    /// The environment of every process.
    pub environment: Vec<(String, String)>,
    /// The user and group of every process.
    pub user: (u32, u32),
    /// The files of its one layer, uncompressed.
    layer: Vec<u8>,
}

impl Image {
    /// Reads an image and verifies its digests.
    pub fn read(path: &Path) -> anyhow::Result<Image> {
        let mut archive = Archive::new(std::fs::File::open(path)?);
        let mut files = BTreeMap::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            files.insert(entry.path()?.display().to_string(), content);
        }
        let layout = json(files.get("oci-layout").context("no oci-layout")?)?;
        if layout.pointer("/imageLayoutVersion") != Some(&Value::from("1.0.0")) {
            bail!("oci-layout is {layout}");
        }
        let index = json(files.get("index.json").context("no index.json")?)?;
        let manifest = json(blob(&files, index.pointer("/manifests/0"))?)?;
        let configuration = json(blob(&files, manifest.pointer("/config"))?)?;
        let mut layer = Vec::new();
        GzDecoder::new(blob(&files, manifest.pointer("/layers/0"))?).read_to_end(&mut layer)?;
        let diff = configuration.pointer("/rootfs/diff_ids/0").and_then(Value::as_str);
        if diff != Some(&format!("sha256:{}", sha256(&layer))) {
            bail!("the layer is another one than {diff:?}");
        }
        let texts = |name: &str| -> Vec<String> {
            let list = configuration.pointer(&format!("/config/{name}")).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_string).collect()
        };
        let user = configuration.pointer("/config/User").and_then(Value::as_str);
        let (user, group) = user.and_then(|user| user.split_once(':')).context("no user")?;
        let split = |text: String| {
            text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()))
        };
        Ok(Image {
            command: [texts("Entrypoint"), texts("Cmd")].concat(),
            environment: texts("Env").into_iter().filter_map(split).collect(),
            user: (user.parse()?, group.parse()?),
            layer,
        })
    }

    /// Writes its files below a directory, with their owners if they can be set.
    pub fn unpack(&self, directory: &Path, sets_owners: bool) -> anyhow::Result<()> {
        let mut archive = Archive::new(&self.layer[..]);
        archive.set_preserve_permissions(true);
        archive.set_preserve_ownerships(sets_owners);
        archive.unpack(directory).context("the layer cannot be unpacked")
    }
}

fn json(content: &[u8]) -> anyhow::Result<Value> {
    Ok(serde_json::from_slice(content)?)
}

/// What a descriptor describes, if its digest and its size are right.
fn blob<'f>(
    files: &'f BTreeMap<String, Vec<u8>>,
    descriptor: Option<&Value>,
) -> anyhow::Result<&'f [u8]> {
    let descriptor = descriptor.context("a descriptor is missing")?;
    let digest = descriptor.get("digest").and_then(Value::as_str).unwrap_or_default();
    let size = descriptor.get("size").and_then(Value::as_u64);
    let digits = digest.strip_prefix("sha256:").context("no SHA-256")?;
    let content = files.get(&format!("blobs/sha256/{digits}"));
    let content = content.with_context(|| format!("{digest} is missing"))?;
    if sha256(content) != digits || size != Some(content.len() as u64) {
        bail!("{digest} has other content");
    }
    Ok(content)
}
