//! The secret that the ranks of a job share.

use std::fmt::{self, Write as _};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hpmoe_kernels::printable::printable_path;

use super::BootstrapError;
use super::random::random;

/// The variable that names the file with the secret.
pub(super) const SECRET_FILE: &str = "HPMOE_SECRET_FILE";

/// Minimum size of a secret, in bytes: that of a 128-bit key.
const LEAST: usize = 16;

/// Maximum size of a secret, in bytes.
const MOST: usize = 4096;

/// Time limit for reading the whole secret from a file or pipe.
const READING: Duration = Duration::from_secs(5);

/// A secret of 16 to 4,096 bytes that only the ranks of a job know.
///
/// Ranks prove to each other that they know it, and never send it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Makes a secret of `bytes`. Trailing white space is removed, because editors and `echo` add it to files.
    ///
    /// # Errors
    ///
    /// If fewer than 16 or more than 4,096 bytes are left without the white space.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, BootstrapError> {
        let mut bytes = bytes.into();
        bytes.truncate(bytes.trim_ascii_end().len());
        match bytes.len() {
            LEAST..=MOST => Ok(Self(bytes)),
            count => Err(BootstrapError::SecretSize { bytes: count, least: LEAST, most: MOST }),
        }
    }

    /// Makes a new random secret.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn generate() -> Result<Self, BootstrapError> {
        let text = random()?.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self(text.into_bytes()))
    }

    /// Reads the secret from a file or a named pipe (`/dev/fd/3`).
    ///
    /// # Errors
    ///
    /// If the file can't be read within 5 seconds, if users other than its owner and group can read it, if users other than its owner can
    /// write it, or if the secret is too short or too long.
    pub fn from_file(path: &Path) -> Result<Self, BootstrapError> {
        let unusable = |why: String| BootstrapError::SecretFile { file: printable_path(path), why };
        let mut file = open(path).map_err(|error| {
            let none = BootstrapError::no_descriptor("reading the secret", &error);
            none.unwrap_or_else(|| unusable(error.to_string()))
        })?;
        let mode = exposed_mode(&file).map_err(|error| unusable(error.to_string()))?;
        if let Some(mode) = mode {
            return Err(unusable(format!(
                "its mode is {mode:o}, so that others can read or change it: set its mode to 600 with chmod"
            )));
        }
        let bytes = read(&mut file).map_err(|error| unusable(error.to_string()))?;
        if bytes.len() > MOST {
            return Err(unusable(format!("it has more than {MOST} bytes; a secret has {LEAST} to {MOST}")));
        }
        Self::new(bytes).map_err(|error| unusable(error.to_string()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Passes the secret to a process that is about to be started, as an unnamed file on its standard input. No argument and no variable
    /// holds the secret, and nothing is left of it after the processes have ended.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn pass_to(&self, command: &mut Command) -> io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;
        let mut file = crate::backend::host::nameless_file(c"hpmoe secret")?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(&self.0)?;
        command.stdin(file).env(SECRET_FILE, "/proc/self/fd/0");
        Ok(())
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn pass_to(&self, _command: &mut Command) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// Prints nothing of the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // On Linux, opening a pipe without a writer would wait for ever.
    #[cfg(target_os = "linux")]
    let flags = libc::O_NONBLOCK;
    #[cfg(not(target_os = "linux"))]
    let flags = 0;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<std::fs::File> {
    OpenOptions::new().read(true).open(path)
}

/// The mode of a file, if users other than its owner and group can access it, or users other than its owner can write it.
#[cfg(unix)]
fn exposed_mode(file: &std::fs::File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let status = file.metadata()?;
    let mode = status.permissions().mode() & 0o777;
    Ok((status.is_file() && mode & 0o027 != 0).then_some(mode))
}

#[cfg(not(unix))]
fn exposed_mode(_file: &std::fs::File) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Reads the whole file, but at most [`MOST`] bytes plus one.
fn read(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + READING;
    let mut bytes = Vec::new();
    loop {
        match file.take((MOST + 1 - bytes.len()) as u64).read_to_end(&mut bytes) {
            Ok(_) => return Ok(bytes),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() > deadline => {
                return Err(io::Error::new(ErrorKind::TimedOut, format!("nothing came from it within {READING:?}")));
            }
            Err(_) => sleep(Duration::from_millis(5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_a_size_and_shows_nothing() {
        let secret = Secret::new("0123456789abcdef\r\n").unwrap();
        assert_eq!((secret.bytes(), format!("{secret:?}")), (&b"0123456789abcdef"[..], "Secret(..)".to_owned()));
        let refused = |count: usize| Secret::new(vec![b'x'; count]).unwrap_err().to_string();
        assert_eq!(
            refused(15),
            "the secret has 15 bytes, but should have 16 to 4096: make one with `openssl rand -hex 32`"
        );
        assert!(refused(4097).starts_with("the secret has 4097 bytes"));
        let [first, second] = [0, 1].map(|_| Secret::generate().unwrap());
        assert!(first != second && first.bytes().len() == 64 && Secret::new(first.bytes()).unwrap() == first);
    }

    #[test]
    #[cfg(unix)]
    #[cfg_attr(miri, ignore = "files")]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        for (mode, others) in [(0o600, false), (0o440, false), (0o604, true), (0o620, true), (0o666, true)] {
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            match Secret::from_file(file.path()) {
                Ok(secret) => assert!(!others && secret.bytes() == b"0123456789abcdef", "{mode:o}"),
                Err(error) => {
                    assert!(others && error.to_string().contains(&format!("its mode is {mode:o}")), "{error}");
                }
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "files")]
    fn what_is_no_secret_is_told_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| Secret::from_file(path).unwrap_err().to_string();
        let absent = said(&folder.path().join("a\u{1b}[2Jb"));
        assert!(
            absent.contains(r"a\u{1b}[2Jb (No such file")
                && absent.ends_with("or name another file (in HPMOE_SECRET_FILE if that is set)"),
            "{absent}"
        );
        assert!(said(folder.path()).contains("Is a directory"));
        assert!(said(Path::new("/dev/null")).contains("the secret has 0 bytes"));
        assert!(said(Path::new("/dev/zero")).contains("it has more than 4096 bytes; a secret has 16 to 4096"));
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(said(&pipe).contains("the secret has 0 bytes"), "nobody writes it");
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "processes")]
    fn a_process_gets_a_secret_that_no_argument_and_no_variable_holds() {
        let secret = Secret::generate().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "cat \"$HPMOE_SECRET_FILE\"; stat -L -c ' %a' /proc/self/fd/0"]);
        secret.pass_to(&mut command).unwrap();
        let text = String::from_utf8(secret.bytes().to_vec()).unwrap();
        assert!(!format!("{command:?}").contains(&text), "{command:?}");
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{text} 600\n"));
    }
}
