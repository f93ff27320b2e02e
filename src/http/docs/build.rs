//! The build script of the package: packs Scalar's bundle, out of the crate that
//! ships it, as it goes over the wire. Nothing is downloaded.

use flate2::{Compression, write::GzEncoder};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// MIT asks that the notice goes with every copy, so it stands before the code.
const LICENSE: &str = include_str!("assets/LICENSE-scalar");

fn main() -> Result<(), Box<dyn Error>> {
    let own = ["src/http/docs/build.rs", "src/http/docs/assets/LICENSE-scalar"];
    for file in own {
        writeln!(std::io::stdout(), "cargo::rerun-if-changed={file}")?;
    }
    let bundle = scalar_api_reference::get_asset("scalar.js")
        .ok_or("the crate scalar_api_reference has no scalar.js any more")?;
    let bundle = String::from_utf8(bundle)?;
    // The map is not shipped: developer tools would ask for it in vain.
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
