//! What goes over a connection between rank 0 and another rank.

use std::io::{self, Read, Write};

use crate::bootstrap::wire::{Message, Reader};

/// The first bytes of every connection: this protocol and its version.
pub(super) const MAGIC: &[u8] = b"hpmoe bootstrap 1";

/// More bytes than any frame has: a stranger's connection must not make this process allocate them.
const MOST: u64 = 1 << 32;

/// One message on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// Another rank to rank 0, first of all.
    Hello { magic: Vec<u8>, rank: usize, ranks: usize },
    /// Rank 0: all ranks are here.
    Welcome,
    /// Rank 0: the processes don't fit together.
    Refused(String),
    /// A rank's part of an exchange.
    Part { exchange: u64, bytes: Vec<u8> },
    /// Rank 0: the parts of all ranks.
    Whole { exchange: u64, parts: Vec<Vec<u8>> },
    /// A rank asks who is missing in an exchange.
    Ask { exchange: u64 },
    /// Rank 0's answer.
    Missing { exchange: u64, ranks: Vec<usize> },
    /// Rank 0: a rank is gone; `left` if it said goodbye.
    Gone { rank: usize, left: bool },
    /// The sender leaves the group.
    Goodbye,
}

impl Frame {
    /// Sends the frame.
    pub(super) fn write(&self, mut to: impl Write) -> io::Result<()> {
        let message = match self {
            Self::Hello { magic, rank, ranks } => {
                Message::default().number(0).bytes(magic).number(*rank as u64).number(*ranks as u64)
            }
            Self::Welcome => Message::default().number(1),
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
            Self::Gone { rank, left } => Message::default().number(7).number(*rank as u64).number((*left).into()),
            Self::Goodbye => Message::default().number(8),
        };
        // One write: no frame is torn by another thread's.
        to.write_all(&Message::default().bytes(&message.finish()).finish())
    }

    /// Waits for the next frame.
    pub(super) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut size = [0; 8];
        from.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, "not a message of this protocol");
        if size > MOST {
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
            0 => Self::Hello { magic: message.bytes()?.to_vec(), rank: message.size()?, ranks: message.size()? },
            1 => Self::Welcome,
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
            7 => Self::Gone { rank: message.size()?, left: message.number()? != 0 },
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
            Frame::Hello { magic: MAGIC.to_vec(), rank: 2, ranks: 4 },
            Frame::Welcome,
            Frame::Refused("why".to_owned()),
            Frame::Part { exchange: 3, bytes: vec![1, 2] },
            Frame::Whole { exchange: 3, parts: vec![vec![1, 2], Vec::new()] },
            Frame::Ask { exchange: 3 },
            Frame::Missing { exchange: 3, ranks: vec![1, 3] },
            Frame::Gone { rank: 1, left: true },
            Frame::Goodbye,
        ];
        let mut stream = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut stream).unwrap());
        let mut rest = stream.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut rest).unwrap(), frame);
        }
        assert_eq!(Frame::read(rest).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// A rank that dies while it sends is gone, and no stranger.
    #[test]
    fn a_frame_that_is_cut_off_is_the_end_of_its_connection() {
        let mut whole = Vec::new();
        Frame::Whole { exchange: 3, parts: vec![vec![1, 2], Vec::new()] }.write(&mut whole).unwrap();
        for count in 0..whole.len() {
            let error = Frame::read(&whole[..count]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{count} of {} bytes", whole.len());
        }
    }

    #[test]
    fn what_a_stranger_sends_is_refused() {
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[8, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Frame::read(bytes).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
