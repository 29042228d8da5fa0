//! The runs of kernels: rows of launches, without anything between launches that makes ranks wait for one another.

use crate::kernels::Kernel;
use crate::random::{Case, Routing, ids};
use hpmoe_runtime::prelude::*;

/// Launches in a row.
pub struct Row {
    pub seed: u64,
    pub ranks: usize,
    /// The rank that starts each launch late, if any.
    pub late: Option<usize>,
    /// Whether vector tasks cut their tiles into pieces of half the usual height.
    pub halves: bool,
    pub launches: Vec<Launch>,
}

/// One launch of a row.
pub struct Launch {
    pub case: Case,
    /// Tokens stay on their ranks, so that no rank waits for another and one may be a launch ahead.
    alone: bool,
}

/// Rows of a kernel: with many tokens, and sometimes with few. Each launch has other tokens, so that results of an
/// earlier launch don't help. Both sets of counters are used again.
pub fn rows(kernel: &Kernel) -> Vec<Row> {
    let (experts, most) = (kernel.compiled.tables().experts, kernel.compiled.tables().tokens);
    // Kinds of ids: any, and with empty slots: some slots, all slots of a token, or all of a rank.
    let takes_empty = kernel.compiled.tables().whole_slots.is_none() && kernel.name != "chosen";
    let divisors: Vec<usize> = (1..=6).filter(|ranks| experts.is_multiple_of(*ranks)).collect();
    let row = |seed: u64| {
        let turn = seed as usize;
        let ranks = divisors[(turn + turn / 3 + 1) % divisors.len()];
        let some = [most, 1, 0, most / 3];
        let tokens = |rank: usize| if turn % 4 == 3 { some[(rank + turn / 4) % 4] } else { most };
        let tokens: Vec<usize> = (0..ranks).map(tokens).collect();
        let routing = match turn % 3 {
            0 => Routing::Uniform,
            1 => Routing::Favourite(turn % experts),
            _ => Routing::Few,
        };
        let late = (turn % 2 == 1).then_some(turn % ranks);
        let kind = if takes_empty { [0, 4, 0, 6, 0, 7, 0, 5][turn % 8] } else { 0 };
        let launch = |at: u64, routing, alone| Launch {
            case: Case { tokens: tokens.clone(), routing, seed: seed ^ at << 16 ^ kind << 5, late },
            alone: alone && experts / ranks >= kernel.compiled.tables().top_k,
        };
        let launches = vec![
            launch(0, routing, false),
            launch(1, Routing::Uniform, true),
            launch(2, Routing::Uniform, false),
            launch(3, routing, true),
            launch(4, Routing::Uniform, false),
        ];
        Row { seed, ranks, late, halves: turn / 4 % 2 == 1, launches }
    };
    (0..64).map(row).collect()
}

impl Launch {
    pub fn route<const K: usize>(&self, experts: usize) -> Route {
        Route::new(self.case.ep(), experts, &self.ids::<K>(experts)).expect("a legal route")
    }

    pub fn ids<const K: usize>(&self, experts: usize) -> PerRank<Tensor<i32, K>> {
        let ep = self.case.ep();
        let own = experts / ep.count();
        let stay = |rank: Rank| {
            let chosen = |token: usize| (0..K).map(move |k| (rank.id() * own + (token + k) % own) as i32);
            Tensor::from_vec((0..self.case.tokens[rank.id()]).flat_map(chosen).collect())
        };
        if self.alone { PerRank::from_fn(ep, stay) } else { ids(&self.case, experts) }
    }
}
