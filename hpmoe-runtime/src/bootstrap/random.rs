//! Random bytes from the system.

use super::BootstrapError;

/// Random bytes that can't be guessed.
pub(super) type Random = [u8; 32];

/// New random bytes.
pub(super) fn random() -> Result<Random, BootstrapError> {
    let mut bytes = Random::default();
    fill(&mut bytes).map_err(|error| BootstrapError::Random { cause: error.to_string() })?;
    Ok(bytes)
}

/// Fills `bytes` by a system call, which needs no file: a process without a free file descriptor can join, too.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a call of the system")]
fn fill(bytes: &mut Random) -> std::io::Result<()> {
    // SAFETY: room for that many bytes. Up to 256 bytes come whole.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(count) == Ok(bytes.len()) { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut Random) -> std::io::Result<()> {
    use std::io::Read as _;
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn random_bytes_differ_from_call_to_call() {
        let [first, second] = [0, 1].map(|_| random().unwrap());
        assert_ne!(first, second);
        assert!(first.iter().filter(|byte| **byte == 0).count() < 16, "{first:?}");
    }
}
