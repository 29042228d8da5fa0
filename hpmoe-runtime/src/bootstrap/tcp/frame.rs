//! The messages between rank 0 and another rank.

use std::io::{self, Read, Write};

use crate::bootstrap::Strangers;
use crate::bootstrap::wire::{Message, Reader};

/// Maximum size of a rank's part in an exchange: 256 MiB.
pub(super) const MOST_PART: usize = 1 << 28;

/// Maximum size, in bytes, of a frame's contents other than the parts.
const MOST_HEAD: u64 = 1 << 16;

/// The maximum size, in bytes, of a frame with the parts of this many ranks.
pub(super) const fn most_bytes(ranks: usize) -> u64 {
    MOST_HEAD + (MOST_PART as u64 + 8) * ranks as u64
}

/// How a rank's membership in the group ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The rank's connection was closed.
    Closed,
    /// The rank said goodbye.
    Left,
    /// The rank sent data for an exchange that does not exist.
    Unexpected,
}

impl End {
    const ALL: [Self; 3] = [Self::Closed, Self::Left, Self::Unexpected];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Closed => "its connection closed",
            Self::Left => "it left the group while others went on",
            Self::Unexpected => "it sent parts of exchanges that no rank expects yet, or one twice",
        }
    }
}

/// One message on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// From rank 0: all ranks have joined; contains the count of strangers.
    Welcome(Strangers),
    /// From rank 0: the processes don't fit together.
    Refused(String),
    /// A rank's contribution to an exchange.
    Part { exchange: u64, bytes: Vec<u8> },
    /// From rank 0: the contributions of all ranks.
    Whole { exchange: u64, parts: Vec<Vec<u8>> },
    /// Asks rank 0 which ranks are missing in an exchange.
    Ask { exchange: u64 },
    /// Rank 0's answer to `Ask`.
    Missing { exchange: u64, ranks: Vec<usize> },
    /// From rank 0: a rank is gone, and how it ended.
    Gone { rank: usize, how: End },
    /// The sender leaves the group.
    Goodbye,
}

impl Frame {
    /// Sends the frame.
    pub(super) fn write(&self, mut to: impl Write) -> io::Result<()> {
        let message = match self {
            Self::Welcome(strangers) => {
                strangers.numbers().into_iter().fold(Message::default().number(1), Message::number)
            }
            Self::Refused(text) => Message::default().number(2).bytes(text.as_bytes()),
            Self::Part { exchange, bytes } => Message::default().number(3).number(*exchange).bytes(bytes),
            Self::Whole { exchange, parts } => {
                let head = Message::default().number(4).number(*exchange).number(parts.len() as u64);
                parts.iter().fold(head, |message, part| message.bytes(part))
            }
            Self::Ask { exchange } => Message::default().number(5).number(*exchange),
            Self::Missing { exchange, ranks } => {
                let head = Message::default().number(6).number(*exchange).number(ranks.len() as u64);
                ranks.iter().fold(head, |message, rank| message.number(*rank as u64))
            }
            Self::Gone { rank, how } => Message::default().number(7).number(*rank as u64).number(*how as u64),
            Self::Goodbye => Message::default().number(8),
        };
        to.write_all(&Message::default().bytes(&message.finish()).finish())
    }

    /// Waits for the next frame, of at most `most` bytes. Memory is allocated as bytes arrive, not by the announced
    /// size.
    pub(super) fn read(mut from: impl Read, most: u64) -> io::Result<Self> {
        let mut size = [0; 8];
        from.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, "not a message of this protocol");
        if size > most {
            return Err(foreign());
        }
        let mut bytes = Vec::new();
        from.take(size).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::parse(&mut Reader(&bytes)).ok_or_else(foreign)
    }

    fn parse(message: &mut Reader<'_>) -> Option<Self> {
        Some(match message.number()? {
            1 => {
                let mut next = || message.number();
                Self::Welcome(Strangers::from_numbers([next()?, next()?, next()?, next()?, next()?]))
            }
            2 => Self::Refused(message.text()?),
            3 => Self::Part { exchange: message.number()?, bytes: message.bytes()?.to_vec() },
            4 => {
                let (exchange, count) = (message.number()?, message.size()?);
                let parts = (0..count).map(|_| Some(message.bytes()?.to_vec())).collect::<Option<_>>()?;
                Self::Whole { exchange, parts }
            }
            5 => Self::Ask { exchange: message.number()? },
            6 => {
                let (exchange, count) = (message.number()?, message.size()?);
                Self::Missing { exchange, ranks: (0..count).map(|_| message.size()).collect::<Option<_>>()? }
            }
            7 => {
                let (rank, how) = (message.size()?, message.size()?);
                Self::Gone { rank, how: *End::ALL.get(how)? }
            }
            8 => Self::Goodbye,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frames = [
            Frame::Welcome(Strangers::from_numbers([5, 4, 3, 2, 1])),
            Frame::Refused("why".to_owned()),
            Frame::Part { exchange: 3, bytes: vec![1, 2] },
            Frame::Whole { exchange: 3, parts: vec![vec![1, 2], Vec::new()] },
            Frame::Ask { exchange: 3 },
            Frame::Missing { exchange: 3, ranks: vec![1, 3] },
            Frame::Gone { rank: 1, how: End::Left },
            Frame::Gone { rank: 2, how: End::Unexpected },
            Frame::Goodbye,
        ];
        let mut stream = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut stream).unwrap());
        let mut rest = stream.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut rest, 1 << 10).unwrap(), frame);
        }
        assert_eq!(Frame::read(rest, 1 << 10).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Checks that a frame that is cut off is the end of its connection: a rank that dies while it sends is gone, and
    /// no stranger.
    #[test]
    fn a_frame_that_is_cut_off_is_the_end_of_its_connection() {
        let mut whole = Vec::new();
        Frame::Whole { exchange: 3, parts: vec![vec![1, 2], Vec::new()] }.write(&mut whole).unwrap();
        for count in 0..whole.len() {
            let error = Frame::read(&whole[..count], 1 << 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{count} of {} bytes", whole.len());
        }
    }

    /// Checks that a frame that announces too many bytes is refused before those bytes arrive.
    #[test]
    fn a_frame_that_is_too_large_is_refused_by_its_first_bytes() {
        for size in [1025, 1 << 20, 1 << 32, u64::MAX] {
            let error = Frame::read(&size.to_le_bytes()[..], 1024).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{size}");
        }
    }

    #[test]
    fn what_a_stranger_sends_is_refused() {
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[8, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Frame::read(bytes, most_bytes(256)).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
