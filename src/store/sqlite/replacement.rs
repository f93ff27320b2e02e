//! Moves the files of an old store to a new directory within the data directory, so that a restored
//! store can take the old store's place.
//!
//! The data directory itself stays in place, because it may be a mount point or a symbolic link,
//! such as systemd creates for `DynamicUser=`. The files are moved one by one, so a killed command
//! may have moved only some of them.
//!
//! The store's file is moved first, so that no process opens a store that is only partly moved. The
//! new directory has the name `UNFINISHED_REPLACEMENT` until all files are moved. While a directory
//! with this name exists, [`require_no_traces`](super::directory::require_no_traces) prevents a new
//! empty store. The next `restore --replace` moves the remaining files to the same directory, so
//! that the old store keeps its write-ahead log.

use super::directory::{FILE_NAME, JOURNAL, LOG, LOG_INDEX, UNFINISHED_REPLACEMENT};
use crate::private_file::{open_private_file, private_directory};
use crate::rate_limiter::COUNTS_FILE_NAME;
use crate::store::StoreError;
use rustix::fs::{AtFlags, FlockOperation, fcntl_lock, renameat, statat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The files of a store, in the order in which they are moved.
fn file_names() -> [String; 5] {
    let side_file = |ending| format!("{FILE_NAME}{ending}");
    [
        FILE_NAME.to_string(),
        side_file(LOG),
        side_file(LOG_INDEX),
        side_file(JOURNAL),
        COUNTS_FILE_NAME.to_string(),
    ]
}

pub struct OldStore {
    directory: PathBuf,
    /// The store's file. It is locked, so that no other process opens the store. `None` if the file
    /// is missing, is not a regular file, or has several hard links.
    _lock: Option<File>,
}

impl OldStore {
    /// Locks the store in this directory. Fails if another process uses the store.
    pub fn lock(directory: &Path) -> Result<OldStore, StoreError> {
        let path = directory.join(FILE_NAME);
        let lock = match open_private_file(&path, OpenOptions::new().read(true).write(true)) {
            Ok(file) => Some(file),
            Err(error)
                if [ErrorKind::NotFound, ErrorKind::InvalidInput].contains(&error.kind()) =>
            {
                None
            }
            Err(error) => return Err(StoreError::unwritable(&path, error)),
        };
        if let Some(file) = &lock {
            // The lock fails if another process has the store open, because SQLite then locks a
            // part of the file.
            fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).map_err(
                |error| match error {
                    Errno::AGAIN | Errno::ACCESS => StoreError::Refused(format!(
                        "a command uses the store in {}; try again when it has ended",
                        directory.display()
                    )),
                    error => StoreError::unwritable(&path, error.into()),
                },
            )?;
        }
        Ok(OldStore { directory: directory.to_path_buf(), _lock: lock })
    }

    /// Moves the store's files to a new directory in the data directory. Returns the path of the
    /// new directory. Also completes an interrupted move. Returns `None` if there is nothing to
    /// move or to complete.
    pub fn set_aside(self) -> Result<Option<PathBuf>, StoreError> {
        self.move_files().map_err(|source| StoreError::File {
            doing: format!("set the old store in {} aside", self.directory.display()),
            source: source.into(),
        })
    }

    fn move_files(&self) -> io::Result<Option<PathBuf>> {
        let directory = File::open(&self.directory)?;
        let mut names = Vec::from(file_names());
        names.retain(|name| exists(&directory, name));
        let unfinished = self.directory.join(UNFINISHED_REPLACEMENT);
        if names.is_empty() && !exists(&directory, UNFINISHED_REPLACEMENT) {
            return Ok(None);
        }
        let aside = private_directory(&unfinished, &self.directory)?;
        for name in names {
            if exists(&aside, &name) {
                let file = unfinished.join(name);
                let problem = format!("{} is there already", file.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, problem));
            }
            renameat(&directory, &name, &aside, &name)?;
            aside.sync_all()?;
            directory.sync_all()?;
        }
        let name = (1_u32..).map(|number| format!("replaced-{number}"));
        let name = name.into_iter().find(|name| !exists(&directory, name));
        let name = name.ok_or(ErrorKind::AlreadyExists)?;
        renameat(&directory, UNFINISHED_REPLACEMENT, &directory, &name)?;
        directory.sync_all()?;
        Ok(Some(self.directory.join(name)))
    }
}

/// True if the directory has an entry with this name, even if it is a dangling link.
fn exists(directory: &File, name: &str) -> bool {
    !matches!(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
}
