//! The mode and owner of the files that are created in a data directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// Opens a file of the data directory for reading and writing. If missing it is created
/// for the directory's owner alone, whatever the mode of the directory.
pub fn private_file(path: &Path, directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    give_to_owner(&file, directory)?;
    Ok(file)
}

/// If this is root, gives a new file to the directory's owner: a server that runs as
/// another user must be able to use what root's commands create. SQLite does the same
/// with its `-wal` and `-shm` files.
fn give_to_owner(file: &File, directory: &Path) -> io::Result<()> {
    let (owner, own) = (std::fs::metadata(directory)?, file.metadata()?);
    if own.uid() == 0 && owner.uid() != 0 {
        fchown(file, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}
