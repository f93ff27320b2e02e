//! The container image: an OCI image layout as one file, with the program and nothing else.
//!
//! The specification of OCI knows no health check; Docker reads it from its own member of the
//! configuration. Others need it in their own files, such as compose.yaml.

use crate::archive::{Entry, gzip, sha256, tar};
use crate::checkout::Checkout;
use crate::parts::Parts;
use serde_json::{Map, Value, json};

/// Where the program is.
pub const PROGRAM: &str = "/usr/local/bin/store-orders";

/// The user and group that it runs as: what distroless images call nonroot.
pub const USER: u32 = 65_532;

/// Where it keeps its data.
const DATA: &str = "/var/lib/store-orders";

/// Every address of the container: what of it is reachable, the container's network says. The
/// admin listener's port is not exposed, so that it is published for none but the network.
const SETTINGS: [(&str, &str); 3] = [
    ("STORE_ORDERS_LISTEN", "0.0.0.0:8080"),
    ("STORE_ORDERS_ADMIN_LISTEN", "0.0.0.0:8081"),
    ("STORE_ORDERS_DATA_DIR", DATA),
];

/// How long Docker waits between two health checks, for one, and for the start.
const HEALTH_INTERVAL_SECONDS: u64 = 10;
const HEALTH_TIMEOUT_SECONDS: u64 = 6;
const HEALTH_START_SECONDS: u64 = 60;

/// The image as one file, for `docker load`, `podman load` and `skopeo copy oci-archive:`.
pub fn oci_archive(checkout: &Checkout, parts: &Parts) -> anyhow::Result<Vec<u8>> {
    let layer = tar(&layer(parts), checkout.time)?;
    let packed = gzip(&layer)?;
    let configuration = configuration(checkout, parts, &sha256(&layer)).to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &configuration),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &packed)],
    });
    let manifest = manifest.to_string().into_bytes();
    let tag = format!("store-orders:{}", parts.version);
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest(&manifest),
            "size": manifest.len(),
            "platform": { "architecture": parts.target.oci_architecture, "os": "linux" },
            "annotations": {
                "org.opencontainers.image.ref.name": parts.version,
                "io.containerd.image.name": format!("docker.io/library/{tag}"),
            },
        }],
    });
    // What `docker load` of versions before 25 reads instead of the index.
    let for_docker = json!([{
        "Config": blob(&configuration),
        "RepoTags": [tag],
        "Layers": [blob(&packed)],
    }]);
    let mut blobs =
        [configuration, packed, manifest].map(|content| Entry::file(blob(&content), content));
    blobs.sort_by(|one, other| one.path.cmp(&other.path));
    let mut entries = vec![Entry::directory("blobs/"), Entry::directory("blobs/sha256/")];
    entries.extend(blobs);
    entries.push(Entry::file("index.json", index.to_string()));
    entries.push(Entry::file("manifest.json", for_docker.to_string()));
    entries.push(Entry::file("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string()));
    tar(&entries, checkout.time)
}

/// What is in the image.
fn layer(parts: &Parts) -> Vec<Entry> {
    let documents = "usr/local/share/doc/store-orders";
    let mut entries: Vec<Entry> = [
        "usr/",
        "usr/local/",
        "usr/local/bin/",
        "usr/local/share/",
        "usr/local/share/doc/",
        "usr/local/share/doc/store-orders/",
        "var/",
        "var/lib/",
    ]
    .map(Entry::directory)
    .into();
    // A new volume takes its owner and mode from here.
    let owned = Entry { mode: 0o700, owner: USER.into(), ..Entry::directory(in_layer(DATA)) };
    // `demo` keeps its store there.
    let temporary = Entry { mode: 0o1777, ..Entry::directory("tmp/") };
    entries.extend([
        temporary,
        owned,
        Entry::program(in_layer(PROGRAM), parts.program.clone()),
        Entry::file(format!("{documents}/LICENSE"), parts.licence.clone()),
        Entry::file(format!("{documents}/LICENSES-THIRD-PARTY.txt"), parts.licences.clone()),
    ]);
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

fn in_layer(path: &str) -> String {
    path.trim_start_matches('/').to_string()
}

fn configuration(checkout: &Checkout, parts: &Parts, layer: &str) -> Value {
    let nanoseconds = |seconds: u64| seconds * 1_000_000_000;
    let mut environment = vec!["PATH=/usr/local/bin".to_string()];
    environment.extend(SETTINGS.map(|(name, value)| format!("{name}={value}")));
    let labels = [
        ("title", Some("store-orders")),
        ("version", Some(parts.version.as_str())),
        ("licenses", Some("MIT")),
        ("revision", checkout.commit.as_deref()),
    ];
    let labels: Map<String, Value> = labels
        .into_iter()
        .filter_map(|(name, text)| Some((format!("org.opencontainers.image.{name}"), json!(text?))))
        .collect();
    json!({
        "created": checkout.timestamp(),
        "architecture": parts.target.oci_architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": { "8080/tcp": {} },
            "Env": environment,
            "Entrypoint": [PROGRAM],
            "Cmd": ["serve"],
            "Volumes": { (DATA): {} },
            "WorkingDir": DATA,
            "Labels": labels,
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", PROGRAM, "health"],
                "Interval": nanoseconds(HEALTH_INTERVAL_SECONDS),
                "Timeout": nanoseconds(HEALTH_TIMEOUT_SECONDS),
                "StartPeriod": nanoseconds(HEALTH_START_SECONDS),
                "Retries": 3,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": checkout.timestamp(), "created_by": "cargo xtask dist" }],
    })
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({
        "mediaType": media_type,
        "digest": digest(content),
        "size": content.len(),
    })
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", sha256(content))
}

/// Where a blob is in the layout.
fn blob(content: &[u8]) -> String {
    format!("blobs/sha256/{}", sha256(content))
}
