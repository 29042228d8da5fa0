//! The tables that each core makes, in the order of `routing/make.h`.

use super::{BLOCK_WORDS, RoutingShape, RoutingSteps};

/// A table, by what it takes.
#[derive(Clone, Copy)]
enum Table {
    Interleaved(u64),
    Experts,
    ArrivalPairs,
    Order,
    Tiles,
    Sends,
    Arrivals,
    Starts,
}

impl RoutingShape {
    /// The tables that fall to a core, in the order of `StoreTables`.
    pub(super) fn tables(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let kinds = [(self.row_tiles, Table::Tiles), (self.sends, Table::Sends), (self.arrivals, Table::Arrivals)];
        let spaces = kinds.into_iter().flat_map(|(count, table)| (0..count).map(move |_| table));
        let first = [Table::Interleaved(4), Table::Experts, Table::ArrivalPairs, Table::Order];
        let all = first.into_iter().chain(spaces).chain([Table::Starts]);
        let mut ordered = false;
        for (_, table) in all.enumerate().filter(|(turn, _)| *turn as u64 % self.cores == core) {
            if !ordered && matches!(table, Table::Order | Table::Tiles | Table::Sends | Table::Arrivals) {
                self.order(&mut steps);
                ordered = true;
            }
            self.table(table, &mut steps);
        }
        // Two loads tell whether a slot is empty.
        steps.scalars += 2;
        steps
    }

    fn table(&self, table: Table, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        match table {
            Table::Interleaved(lists) => steps.interleaved(lists, pairs),
            Table::Experts => steps.interleaved(2, local),
            Table::ArrivalPairs => {
                self.arrivals(steps);
                steps.vector(20 + 1, pairs);
                steps.gather(pairs);
                steps.interleaved(4, pairs);
            }
            Table::Order => steps.store(pairs),
            Table::Tiles => {
                self.items(table, steps);
                steps.vector(9, pairs);
                steps.sums_in_segments(pairs);
                steps.store(pairs);
                steps.gather(local);
                steps.sums(local + 1);
                steps.store(local + 1);
                self.counted(local, true, steps);
                steps.store(local);
            }
            Table::Sends | Table::Arrivals => {
                self.items(table, steps);
                steps.sums(pairs + 1);
                steps.store(pairs + 1);
                self.counted(pairs, matches!(table, Table::Arrivals), steps);
                steps.store(pairs);
            }
            Table::Starts => {
                for (count, table) in
                    [(self.row_tiles, Table::Tiles), (self.sends, Table::Sends), (self.arrivals, Table::Arrivals)]
                {
                    let groups = if matches!(table, Table::Tiles) { local } else { pairs };
                    for _ in 0..count {
                        self.items(table, steps);
                        steps.gather(groups);
                        steps.sums(groups + 1);
                        steps.waits += 1;
                        steps.scalars += 2;
                    }
                }
                steps.scalars += 3 * self.starts.0 + 3 * self.starts.1;
                steps.store(self.starts.0);
            }
        }
    }

    /// `ItemsOf`.
    fn items(&self, table: Table, steps: &mut RoutingSteps) {
        let pairs = self.experts();
        match table {
            Table::Arrivals => self.arrivals(steps),
            _ => steps.vector(1, pairs),
        }
        // Pieces.
        steps.vector(2 + 2 + 4 + 4 + 2, pairs);
    }

    /// `Arrivals`, of all sources at a time.
    fn arrivals(&self, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        let pitch = local.next_multiple_of(BLOCK_WORDS);
        steps.vector(11, pairs);
        steps.vector(1, pitch);
        steps.load(pairs);
        steps.vector(2, self.ranks * pitch);
        steps.gather(pairs);
        steps.vector(self.ranks + 1, pitch);
        steps.gather(pairs);
        steps.vector(1, pairs);
    }

    /// `CountedBefore`.
    fn counted(&self, groups: u64, own: bool, steps: &mut RoutingSteps) {
        steps.vector(18 + 1 + 1 + 1, groups);
        steps.gather(groups);
        steps.vector(2, groups);
        steps.gather(groups);
        steps.sums(groups);
        steps.vector(18, groups);
        if own {
            steps.vector(2, groups);
            steps.gather(groups);
        } else {
            steps.vector(1, groups);
        }
        steps.vector(3, groups);
        steps.gather(groups);
        steps.vector(1, groups);
    }
}
