//! The call of the taskflow that a core was in, described in the user's terms.

use crate::KernelTables;
use crate::abi::{
    HPMOE_ARRIVALS, HPMOE_BLOCKS, HPMOE_CHUNKS, HPMOE_EXPERTS, HPMOE_IDLE, HPMOE_REFUSED, HPMOE_SENDS,
    HPMOE_SENDS_ONCE, HpmoeRecord,
};
use crate::tables::{PhaseTable, RouteTable};

/// Number of chunks of a launch: the kernel's constant, or the number that its cores have chosen.
pub(super) fn chunks_of<'a>(tables: &KernelTables, records: impl IntoIterator<Item = &'a HpmoeRecord>) -> usize {
    let chosen = records.into_iter().map(|record| record.chunks as usize).max().unwrap_or(0);
    if chosen > 0 { chosen } else { tables.chunks }
}

/// Describes where in the program a core of one rank was when it wrote its record.
#[derive(Clone, Copy)]
pub(crate) struct TaskSite<'a> {
    tables: &'a KernelTables,
    ranks: usize,
    rank: usize,
}

impl<'a> TaskSite<'a> {
    /// Describes records of rank `rank` of `ranks` ranks.
    pub(crate) const fn new(tables: &'a KernelTables, ranks: usize, rank: usize) -> Self {
        Self { tables, ranks, rank }
    }

    /// Task and source line of the tile in a core's record; `None` if the core has begun no tile.
    pub(crate) fn line(&self, record: &HpmoeRecord) -> Option<String> {
        if let Some(route) = self.route(record) {
            return Some(format!("`Route::of` at {}:{}", self.tables.file, route.line));
        }
        let phase = self.phase(record)?;
        Some(format!("`{}` at {}:{}", phase.task, self.tables.file, phase.line))
    }

    /// Task, source line, tile and call in a core's record; `None` if the core has begun no tile.
    pub(crate) fn call(&self, record: &HpmoeRecord) -> Option<String> {
        if let Some(route) = self.route(record) {
            return Some(format!("{}: {}", self.line(record)?, route.source));
        }
        let phase = self.phase(record)?;
        Some(format!("{}, {}: {}", self.line(record)?, self.tile(phase, record), phase.source))
    }

    /// The kernel's route, if the core was making it.
    fn route(&self, record: &HpmoeRecord) -> Option<RouteTable> {
        let began = !matches!(record.state, HPMOE_IDLE | HPMOE_REFUSED);
        self.tables.route.filter(|_| began && record.phase as usize == self.tables.phases.len())
    }

    fn phase(&self, record: &HpmoeRecord) -> Option<&'a PhaseTable> {
        // A core that has begun no tile has the first phase's number.
        if matches!(record.state, HPMOE_IDLE | HPMOE_REFUSED) {
            return None;
        }
        self.tables.phases.get(record.phase as usize)
    }

    fn tile(&self, phase: &PhaseTable, record: &HpmoeRecord) -> String {
        let HpmoeRecord { item, column, .. } = record;
        let (group, own) = (record.group as usize, self.tables.local_experts(self.ranks));
        let kind = self.tables.spaces.get(phase.space as usize).map(|space| space.kind);
        // Experts are counted once for each chunk.
        let chunks = chunks_of(self.tables, [record]);
        let local = own * chunks;
        let (peer, expert) = (group / local, group % own);
        let (chunk, first) = match kind {
            Some(HPMOE_BLOCKS | HPMOE_CHUNKS) => (group, 0),
            Some(HPMOE_SENDS | HPMOE_SENDS_ONCE) => (group % local / own, peer * own),
            _ => (group % local / own, self.rank * own),
        };
        let what = match kind {
            Some(HPMOE_CHUNKS) => return format!("chunk {chunk}"),
            Some(HPMOE_BLOCKS) => format!("block {item} of tokens"),
            Some(HPMOE_SENDS) => format!("piece {item} for expert {}", first + expert),
            Some(HPMOE_ARRIVALS) => format!("piece {item} from rank {peer} for expert {}", first + expert),
            Some(HPMOE_EXPERTS) => format!("all rows of expert {}", first + expert),
            _ => format!("row tile {item} of expert {}", first + expert),
        };
        let of_chunk = if chunks > 1 { format!(" of chunk {chunk}") } else { String::new() };
        format!("{what}{of_chunk}, column {column}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{HPMOE_ROW_TILES, HPMOE_RUNNING};
    use crate::tables::SpaceTable;
    use crate::testing::TABLES;
    use bytemuck::Zeroable;

    #[test]
    fn tiles_are_told_in_the_words_of_their_loops() {
        let tell_of_chosen = |(chunks, chosen), kind, group| {
            let phases = &[PhaseTable { task: "t", name: "t", source: "t(..)", line: 9, space: 0, starts: &[] }];
            let spaces = vec![SpaceTable { kind, height: 16 }].leak();
            let tables = KernelTables { phases, spaces, chunks, ..TABLES };
            let record =
                HpmoeRecord { state: HPMOE_RUNNING, group, item: 5, column: 7, chunks: chosen, ..Zeroable::zeroed() };
            TaskSite::new(&tables, 2, 1).call(&record).unwrap()
        };
        let tell_of = |chunks, kind, group| tell_of_chosen((chunks, 0), kind, group);
        let tell = |kind, group| tell_of(1, kind, group);
        // Two ranks own two experts each.
        assert_eq!(tell(HPMOE_ROW_TILES, 1), "`t` at src/layer.rs:9, row tile 5 of expert 3, column 7: t(..)");
        assert_eq!(tell(HPMOE_SENDS, 1), "`t` at src/layer.rs:9, piece 5 for expert 1, column 7: t(..)");
        assert_eq!(tell(HPMOE_ARRIVALS, 1), "`t` at src/layer.rs:9, piece 5 from rank 0 for expert 3, column 7: t(..)");
        assert_eq!(tell(HPMOE_BLOCKS, 0), "`t` at src/layer.rs:9, block 5 of tokens, column 7: t(..)");
        let of_chunks =
            |kind, group| tell_of(3, kind, group).replace("`t` at src/layer.rs:9, ", "").replace(": t(..)", "");
        assert_eq!(of_chunks(HPMOE_ROW_TILES, 3), "row tile 5 of expert 3 of chunk 1, column 7");
        assert_eq!(of_chunks(HPMOE_SENDS, 5), "piece 5 for expert 1 of chunk 2, column 7");
        assert_eq!(of_chunks(HPMOE_ARRIVALS, 8), "piece 5 from rank 1 for expert 2 of chunk 1, column 7");
        assert_eq!(of_chunks(HPMOE_BLOCKS, 2), "block 5 of tokens of chunk 2, column 7");
        assert_eq!(of_chunks(HPMOE_CHUNKS, 1), "chunk 1");
        // A kernel that chooses has tables of one chunk.
        let chosen = tell_of_chosen((1, 3), HPMOE_SENDS, 5);
        assert_eq!(chosen, "`t` at src/layer.rs:9, piece 5 for expert 1 of chunk 2, column 7: t(..)");
    }

    #[test]
    fn a_core_that_has_begun_nothing_has_no_line() {
        assert_eq!(TaskSite::new(&TABLES, 2, 0).call(&HpmoeRecord { state: HPMOE_IDLE, ..Zeroable::zeroed() }), None);
        let unknown = HpmoeRecord { state: HPMOE_RUNNING, phase: 9, ..Zeroable::zeroed() };
        assert_eq!(TaskSite::new(&TABLES, 2, 0).line(&unknown), None);
    }
}
