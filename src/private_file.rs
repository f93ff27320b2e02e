//! The mode and owner of the files that are created in a data directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// Opens a file of the data directory for reading and writing. A missing file is created with mode
/// 0600, for the directory's owner.
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

/// If root created the file, gives it to the directory's owner, so that a server that runs as this
/// owner can use files that root's commands create. SQLite does the same with its `-wal` and `-shm`
/// files.
fn give_to_owner(file: &File, directory: &Path) -> io::Result<()> {
    let (directory, created) = (std::fs::metadata(directory)?, file.metadata()?);
    if created.uid() == 0 && directory.uid() != 0 {
        fchown(file, Some(directory.uid()), Some(directory.gid()))?;
    }
    Ok(())
}
