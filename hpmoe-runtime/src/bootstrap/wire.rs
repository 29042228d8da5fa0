//! Encoding of messages between processes: numbers and byte strings, one after another.

/// A message that is being written.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Adds a number.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a byte string: its length, then its bytes.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut message = self.number(bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    /// The bytes of the message.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// A message that is being read. The sender is not trusted: reading beyond the end of the message gives `None`.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// The next number, as a size.
    pub(crate) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// The next byte string.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.size()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next byte string, as text; `None` if it is not UTF-8.
    pub(crate) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_more() {
        let message = Message::default().number(7).bytes(b"heap").bytes(b"").number(9).finish();
        let mut reader = Reader(&message);
        assert_eq!((reader.number(), reader.text(), reader.bytes()), (Some(7), Some("heap".into()), Some(&[][..])));
        assert_eq!((reader.size(), reader.number(), reader.bytes()), (Some(9), None, None));
        let short = Message::default().number(5).finish();
        assert_eq!(Reader(&short).bytes(), None);
    }
}
