//! The memory of time stamps, and the stamps that a launch has written.

use crate::KernelTables;
use crate::abi::{HPMOE_CLOCK_ROUNDS, HpmoeClock, HpmoeStamp, HpmoeStampHead};
use crate::bootstrap::wire::{Message, Reader};

/// Number of rounds in which two ranks compare their clocks.
pub(crate) const CLOCK_ROUNDS: usize = HPMOE_CLOCK_ROUNDS as usize;

/// Bytes of a rank's time stamps, with room for `room` tiles per core; zero if the kernel records none.
pub(crate) const fn stamp_bytes(tables: &KernelTables, ranks: usize, room: u32) -> usize {
    if !tables.time_stamps {
        return 0;
    }
    cores(tables) * core_bytes(room) + ranks * CLOCK_ROUNDS * size_of::<HpmoeClock>()
}

const fn cores(tables: &KernelTables) -> usize {
    (tables.aic + tables.aiv) as usize
}

const fn core_bytes(room: u32) -> usize {
    size_of::<HpmoeStampHead>() + room as usize * size_of::<HpmoeStamp>()
}

/// The time stamps of a launch on one rank; empty if the kernel records none.
#[derive(Clone, Default, Debug)]
pub(crate) struct RankStamps {
    /// Time stamps of each core, matrix cores first.
    pub(crate) cores: Vec<CoreStamps>,
    /// Clock comparisons with each peer, [`CLOCK_ROUNDS`] per peer.
    pub(crate) clocks: Vec<HpmoeClock>,
}

/// The time stamps of one core: those of its first tiles, if there was not room for all.
#[derive(Clone, Debug)]
pub(crate) struct CoreStamps {
    pub(crate) head: HpmoeStampHead,
    pub(crate) tiles: Vec<HpmoeStamp>,
}

impl RankStamps {
    /// Reads the stamps that a kernel wrote to [`stamp_bytes`] bytes of memory.
    pub(crate) fn read(tables: &KernelTables, ranks: usize, room: u32, bytes: &[u8]) -> Self {
        if !tables.time_stamps {
            return Self::default();
        }
        let (of_cores, of_clocks) = bytes.split_at(cores(tables) * core_bytes(room));
        let core = |bytes: &[u8]| {
            let (head, tiles) = bytes.split_at(size_of::<HpmoeStampHead>());
            let head: HpmoeStampHead = bytemuck::pod_read_unaligned(head);
            CoreStamps { tiles: each(tiles).take(head.tiles as usize).collect(), head }
        };
        let cores = of_cores.chunks_exact(core_bytes(room)).map(core).collect();
        Self { cores, clocks: each(of_clocks).take(ranks * CLOCK_ROUNDS).collect() }
    }

    /// Appends the stamps to a message for other processes.
    pub(crate) fn add_to(&self, message: Message) -> Message {
        let message = message.bytes(bytemuck::cast_slice(&self.clocks)).number(self.cores.len() as u64);
        let add = |message: Message, core: &CoreStamps| {
            message.bytes(bytemuck::bytes_of(&core.head)).bytes(bytemuck::cast_slice(&core.tiles))
        };
        self.cores.iter().fold(message, add)
    }

    /// Reads the stamps that another process appended.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (clocks, count) = (each(reader.bytes()?).collect(), reader.number()?);
        let core = |_| {
            let head = reader.bytes().filter(|bytes| bytes.len() == size_of::<HpmoeStampHead>())?;
            Some(CoreStamps { head: bytemuck::pod_read_unaligned(head), tiles: each(reader.bytes()?).collect() })
        };
        Some(Self { clocks, cores: (0..count).map(core).collect::<Option<_>>()? })
    }
}

fn each<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

#[cfg(test)]
impl RankStamps {
    /// Stamps of two cores, one of which has run no tile, and clock comparisons with one peer.
    pub(crate) fn for_test() -> Self {
        let tile = |came| HpmoeStamp { came, waited: 2, lasted: 5, phase: 1, ..HpmoeStamp::default() };
        let busy = CoreStamps {
            head: HpmoeStampHead { begun: 90, ended: 200, tiles: 3, ..HpmoeStampHead::default() },
            tiles: vec![tile(100), tile(120)],
        };
        let idle = CoreStamps { head: HpmoeStampHead { begun: 91, ended: 92, ..busy.head }, tiles: Vec::new() };
        Self { cores: vec![busy, idle], clocks: vec![HpmoeClock { sent: 1, got: 9 }; CLOCK_ROUNDS] }
    }

    /// All stamps as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.add_to(Message::default()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TABLES;

    #[test]
    fn tiles_without_room_are_counted_and_not_read() {
        let tables = KernelTables { aic: 1, aiv: 1, time_stamps: true, ..TABLES };
        let stamps = RankStamps::for_test();
        let mut bytes = vec![0; stamp_bytes(&tables, 1, 2)];
        assert_eq!(bytes.len(), 2 * (64 + 2 * 32) + 8 * 16);
        for (core, at) in stamps.cores.iter().zip([0, 128]) {
            let tiles: &[u8] = bytemuck::cast_slice(&core.tiles);
            bytes[at..at + 64].copy_from_slice(bytemuck::bytes_of(&core.head));
            bytes[at + 64..at + 64 + tiles.len()].copy_from_slice(tiles);
        }
        bytes[256..].copy_from_slice(bytemuck::cast_slice(&stamps.clocks));
        bytes[128 + 16..128 + 20].fill(0); // the second core has run nothing
        let read = RankStamps::read(&tables, 1, 2, &bytes);
        assert_eq!((read.cores[0].head.tiles, read.cores[0].tiles.len()), (3, 2));
        assert_eq!((read.cores[0].tiles[1].came, read.cores[1].tiles.len()), (120, 0));
        assert_eq!((read.clocks[7].sent, read.clocks[7].got), (1, 9));
        assert_eq!((stamp_bytes(&TABLES, 1, 2), RankStamps::read(&TABLES, 1, 2, &[]).cores.len()), (0, 0));
    }
}
