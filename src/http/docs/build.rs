//! The package's build script. It compresses the JavaScript of Scalar, the viewer of the API
//! reference. The JavaScript comes from the crate `scalar_api_reference`, so the build script
//! downloads nothing.

use flate2::{Compression, write::GzEncoder};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Scalar's MIT license requires this notice in every copy of Scalar.
const LICENSE: &str = include_str!("assets/LICENSE-scalar");

fn main() -> Result<(), Box<dyn Error>> {
    let inputs = ["src/http/docs/build.rs", "src/http/docs/assets/LICENSE-scalar"];
    for file in inputs {
        writeln!(std::io::stdout(), "cargo::rerun-if-changed={file}")?;
    }
    let bundle = scalar_api_reference::get_asset("scalar.js")
        .ok_or("the crate scalar_api_reference has no scalar.js any more")?;
    let bundle = String::from_utf8(bundle)?;
    // Remove the reference to the source map. The source map is not shipped, so developer tools
    // would get a 404.
    let code = match bundle.rsplit_once("//# sourceMappingURL=") {
        Some((code, map)) if !map.trim_end().contains('\n') => code,
        _ => &bundle,
    };
    let file = std::fs::File::create(
        Path::new(&std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?).join("scalar.js.gz"),
    )?;
    let mut packed = GzEncoder::new(file, Compression::best());
    write!(packed, "/*! Scalar API Reference\n\n{LICENSE}*/\n{code}")?;
    packed.finish()?;
    Ok(())
}
