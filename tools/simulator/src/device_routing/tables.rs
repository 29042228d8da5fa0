//! The cost of the tables that each core makes, in the order of `routing/make.h`.

use super::steps::BLOCK_WORDS;
use super::{LISTS, LISTS_END, QUOTIENTS, REMAINDERS, RoutingShape, RoutingSteps};

/// A table that cores make, by kind.
#[derive(Clone, Copy)]
enum Table {
    Interleaved(u64),
    Experts,
    ArrivalPairs,
    Sent,
    Order,
    Items(Space),
    Counted(Space),
    Starts,
}

/// A kind of iteration space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Tiles,
    Sends,
    Arrivals,
}

impl RoutingShape {
    /// Steps for the tables that core `core` makes, in the order of `StoreTables`.
    pub(super) fn tables(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let spaces = self.spaces().flat_map(|space| [Table::Items(space), Table::Counted(space)]);
        let sent = self.placed.map(|_| Table::Sent);
        let first = [Table::Interleaved(4), Table::Experts, Table::ArrivalPairs].into_iter().chain(sent);
        let all = first.chain([Table::Order]).chain(spaces).chain([Table::Starts]);
        let mut ordered = false;
        for (_, table) in all.enumerate().filter(|(turn, _)| *turn as u64 % self.cores == core) {
            if !ordered && matches!(table, Table::Order | Table::Counted(_)) {
                self.order(&mut steps);
                ordered = true;
            }
            self.table(table, &mut steps);
        }
        // Two loads tell whether a slot is empty.
        steps.scalars += 2;
        steps
    }

    fn spaces(&self) -> impl Iterator<Item = Space> {
        let kinds = [(self.row_tiles, Space::Tiles), (self.sends, Space::Sends), (self.arrivals, Space::Arrivals)];
        kinds.into_iter().flat_map(|(count, space)| (0..count).map(move |_| space))
    }

    fn table(&self, table: Table, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        match table {
            Table::Interleaved(lists) => steps.interleaved(lists, pairs),
            Table::Experts => steps.interleaved(2, local),
            Table::ArrivalPairs => {
                self.arrivals(steps);
                steps.vector(REMAINDERS + 2 + 1, pairs);
                steps.gather(pairs);
                steps.interleaved(4, pairs);
            }
            Table::Sent => self.store_sent(steps),
            Table::Order => steps.store(pairs),
            Table::Items(space) => {
                steps.vector(1, pairs + 1);
                self.items(space, steps);
                if space == Space::Tiles {
                    steps.vector(QUOTIENTS + 1, pairs);
                    steps.sums_in_segments(pairs);
                    steps.store(pairs);
                    steps.gather(local);
                }
                steps.sums(self.groups(space) + 1);
                steps.store(self.groups(space) + 1);
            }
            Table::Counted(space) => {
                self.items(space, steps);
                if space == Space::Tiles {
                    steps.gather(local);
                }
                self.counted(self.groups(space), space != Space::Sends, steps);
                steps.store(self.groups(space));
            }
            Table::Starts => {
                for space in self.spaces() {
                    self.items(space, steps);
                    if space == Space::Tiles {
                        steps.gather(local);
                    }
                    steps.sum(self.groups(space));
                    steps.scalars += 1;
                }
                steps.scalars += 3 * self.starts.0 + 3 * self.starts.1;
                steps.store(self.starts.0);
            }
        }
    }

    /// Number of groups of a space on a rank.
    const fn groups(&self, space: Space) -> u64 {
        match space {
            Space::Tiles => self.local_experts,
            Space::Sends | Space::Arrivals => self.experts(),
        }
    }

    /// Adds the steps of `ItemsOf`, which computes the number of items in each group of a space.
    fn items(&self, space: Space, steps: &mut RoutingSteps) {
        let pairs = self.experts();
        match space {
            Space::Arrivals => self.arrivals(steps),
            _ => steps.vector(1, pairs),
        }
        // Pieces.
        steps.vector(2 + 2 + 4 + 4 + 2, pairs);
    }

    /// Adds the steps of `Arrivals`, for all sources together.
    fn arrivals(&self, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        let pitch = local.next_multiple_of(BLOCK_WORDS);
        steps.vector(QUOTIENTS + 2, pairs);
        steps.vector(1, pitch);
        match self.placed {
            Some(_) => self.pick_arrivals(steps),
            None => {
                (0..self.merged()).for_each(|_| steps.load(pairs));
                steps.vector(2 + self.merged() - 1, self.ranks * pitch);
            }
        }
        steps.gather(pairs);
        self.sum_up(pitch, steps);
        steps.gather(pairs);
        steps.vector(1, pairs);
    }

    /// Adds the steps of `SumUp`, which adds to each source's counts the counts of all sources before it.
    fn sum_up(&self, pitch: u64, steps: &mut RoutingSteps) {
        if LISTS * self.list_bytes() + (2 * self.ranks + 1) * pitch * 4 > LISTS_END {
            steps.vector(self.ranks + 1, pitch);
            return;
        }
        steps.vector(2, pitch);
        let mut step = 1;
        while step < self.ranks {
            steps.vector(2, (self.ranks - step) * pitch);
            step *= 2;
        }
    }

    /// Adds the steps of `CountedBefore`, which computes the number of items before each group, in the order of queues.
    fn counted(&self, groups: u64, own: bool, steps: &mut RoutingSteps) {
        steps.vector(REMAINDERS + 1 + 1 + 1, groups);
        steps.gather(groups);
        steps.vector(2, groups);
        steps.gather(groups);
        steps.sums(groups);
        steps.vector(REMAINDERS, groups);
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
