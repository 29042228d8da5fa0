//! A file with the address of rank 0, for the other ranks.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use hpmoe_kernels::printable::printable_path;

/// Maximum size of an address, in bytes: a host name has at most 255 bytes.
const MOST: u64 = 300;

/// A file for rank 0's address. Rank 0 writes it when it listens, and removes it when all ranks have joined. No port need be chosen
/// beforehand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressFile(PathBuf);

/// An address that is in its file as long as this value lives.
pub(super) struct Told<'a> {
    file: &'a AddressFile,
    address: String,
}

impl AddressFile {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Writes the address in one step: a reader finds all of it, or no file.
    pub(super) fn tell(&self, address: &str) -> io::Result<Told<'_>> {
        let mut draft = self.0.clone().into_os_string();
        // Processes of two containers that share the folder can have one number.
        let random = RandomState::new().build_hasher().finish();
        draft.push(format!(".{random:016x}.draft"));
        let draft = PathBuf::from(draft);
        let written = create(&draft).and_then(|mut file| file.write_all(address.as_bytes()));
        written.and_then(|()| fs::rename(&draft, &self.0)).inspect_err(|_| drop(fs::remove_file(&draft)))?;
        Ok(Told { file: self, address: address.to_owned() })
    }

    /// Reads the address from the file.
    pub(super) fn read(&self) -> io::Result<String> {
        if !fs::metadata(&self.0)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is not a file"));
        }
        let mut text = String::new();
        fs::File::open(&self.0)?.take(MOST).read_to_string(&mut text)?;
        match text.trim() {
            "" => Err(io::Error::new(ErrorKind::InvalidData, "it is empty")),
            address => Ok(address.to_owned()),
        }
    }

    /// The file's name in messages.
    pub(super) fn named(&self) -> String {
        format!("the address in {}", printable_path(&self.0))
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        // The file may have been removed, or the next job may have written its address there.
        if self.file.read().is_ok_and(|address| address == self.address) {
            let _ = fs::remove_file(&self.file.0);
        }
    }
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_there_as_long_as_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = AddressFile::new(folder.path().join("rank0"));
        assert_eq!(file.read().unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&file.0, "an old one\n").unwrap();
        let told = file.tell("127.0.0.1:77").unwrap();
        assert_eq!(file.read().unwrap(), "127.0.0.1:77");
        drop(told);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
        let told = file.tell("127.0.0.1:77").unwrap();
        let next = file.tell("127.0.0.1:78").unwrap();
        drop(told);
        assert_eq!(file.read().unwrap(), "127.0.0.1:78", "that of the next job stays");
        drop(next);
        fs::write(&file.0, "\n").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("it is empty"));
        assert!(AddressFile::new(folder.path()).read().unwrap_err().to_string().contains("it is not a file"));
        assert!(AddressFile::new("/nowhere/rank0").tell("127.0.0.1:77").is_err());
    }
}
