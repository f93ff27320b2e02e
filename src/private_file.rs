//! Opens and creates the files of a data directory.
//!
//! Root may run commands in the data directory of a service, and the service's user can replace
//! each file there. If a command followed a link, it could write to another file of root, or give
//! that file to the service. So a file must be a regular file without further hard links, and
//! symbolic links are not followed. A command changes the owner only of files that it has created.

use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// Opens a file of the data directory for reading and writing. Creates a missing file with mode
/// 0600. A file that root creates gets the directory's owner.
pub fn private_file(path: &Path, directory: &Path) -> io::Result<File> {
    match open_private_file(path, OpenOptions::new().read(true).write(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        result => return result,
    }
    let mut create = OpenOptions::new();
    match create.read(true).write(true).create_new(true).mode(0o600).open(path) {
        // Another process has just created the file.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            open_private_file(path, OpenOptions::new().read(true).write(true))
        }
        Err(error) => Err(error),
        Ok(file) => {
            give_to_owner(&file, directory)?;
            Ok(file)
        }
    }
}

/// Opens the directory `path` in the data directory. Creates a missing directory with mode 0700. A
/// directory that root creates gets the data directory's owner. Fails if `path` is a symbolic link.
pub fn private_directory(path: &Path, directory: &Path) -> io::Result<File> {
    let created = match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        result => result.map(|()| true)?,
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut access = OpenOptions::new();
    let opened = access.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if created {
        give_to_owner(&opened, directory)?;
    }
    Ok(opened)
}

/// Opens an existing file of the data directory. Fails unless it is a regular file without further
/// hard links.
pub fn open_private_file(path: &Path, access: &mut OpenOptions) -> io::Result<File> {
    require_one_name(path, &path.symlink_metadata()?)?;
    // The file may have been replaced since the first check. NOFOLLOW refuses links, and NONBLOCK
    // avoids a wait for the writer of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = access.custom_flags(flags.bits().cast_signed()).open(path)?;
    require_one_name(path, &file.metadata()?)?;
    Ok(file)
}

pub fn require_one_name(path: &Path, file: &Metadata) -> io::Result<()> {
    let kind = file.file_type();
    let problem = if kind.is_symlink() {
        "is a symbolic link"
    } else if !kind.is_file() {
        "is not a regular file"
    } else if file.nlink() > 1 {
        "has another name (a hard link)"
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("{} {problem}", path.display())))
}

/// If root created the file or directory, gives it to the owner of the data directory. The server
/// runs as that owner, and needs access to what root's commands create.
fn give_to_owner(file: &File, directory: &Path) -> io::Result<()> {
    let (directory, created) = (std::fs::metadata(directory)?, file.metadata()?);
    if created.uid() == 0 && directory.uid() != 0 {
        fchown(file, Some(directory.uid()), Some(directory.gid()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_with_one_name_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let open = |name: &str| private_file(&path(name), directory.path());
        std::fs::write(path("other"), "root's").unwrap();
        symlink(path("other"), path("link")).unwrap();
        symlink(path("nowhere"), path("dangling")).unwrap();
        std::fs::hard_link(path("other"), path("second")).unwrap();
        let (mode, kind) = (rustix::fs::Mode::RUSR, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), kind, mode, 0).unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        for (name, problem) in [
            ("link", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("second", "another name"),
            ("pipe", "not a regular file"),
            ("directory", "not a regular file"),
        ] {
            let error = open(name).unwrap_err().to_string();
            assert!(error.contains(problem), "{name}: {error}");
        }
        assert!(!path("nowhere").exists());
        open("new").unwrap();
        open("new").unwrap();
    }

    /// Only root can give files to another owner, so the test detects a wrong owner only as root.
    #[test]
    fn only_created_files_are_given_to_the_directorys_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("existing"), "").unwrap();
        let owner = |path: &Path| path.metadata().unwrap().uid();
        let before = owner(&path("existing"));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(directory.path(), Some(65_534), Some(65_534)).unwrap();
        }
        for name in ["existing", "new"] {
            private_file(&path(name), directory.path()).unwrap();
        }
        assert_eq!(owner(&path("existing")), before);
        assert_eq!(owner(&path("new")), owner(directory.path()));
    }
}
