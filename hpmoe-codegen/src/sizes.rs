//! Tile sizes that a kernel leaves open: those with the least estimated latency.

use crate::cost::Time;
use crate::schedule::{Estimate, MAX_RANKS, estimate, needs_whole_experts};
use crate::target::Target;
use crate::tuned::{NamedSizes, overrides};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::front::{Front, front};
use hpmoe_language::graph::Sizes;
use hpmoe_language::syntax::{Overrides, open_constants};
use std::collections::HashMap;
use std::fmt;
use syn::ItemMod;

/// The launches that open tile sizes are chosen for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Ranks of the group. `None`: eight, or as many below that as share the experts.
    pub ranks: Option<u32>,
    /// Tokens of a rank. `None`: the kernel's `TOKENS`.
    pub tokens: Option<usize>,
}

impl Expected {
    /// That there is a launch with so many ranks and tokens, whatever the kernel is.
    fn check(self) -> Result<(), String> {
        if self.ranks == Some(0) || self.tokens == Some(0) {
            return Err(format!(
                "{self} are expected: a launch has from 1 to {MAX_RANKS} ranks and from 1 to `TOKENS` tokens of each"
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks {
            Some(ranks) => write!(f, "{ranks} ranks")?,
            None => write!(f, "at most {RANKS} ranks")?,
        }
        match self.tokens {
            Some(tokens) => write!(f, " and {tokens} tokens of each"),
            None => f.write_str(" and `TOKENS` of each"),
        }
    }
}

/// The ranks that sizes are chosen for where no number is given: with more of them an expert has more rows and a rank fewer experts.
const RANKS: u32 = 8;

/// A tile size: the values that it may get, ascending, the place of the one that the search begins with, and the place of the least one
/// that it tries. Values below are for kernels whose memories hold no larger tiles.
///
/// With fewer than 128 rows or columns a matrix core reads operands for longer than it multiplies. Even routings hide that, since HBM is
/// slower still; an expert that many more tokens choose would take half as long again.
struct Ladder {
    name: &'static str,
    values: &'static [usize],
    first: usize,
    least: usize,
    /// The part of the estimated latency with evenly spread tokens that another size must save, if it must save any. What uneven ones save by
    /// other sizes than those of products is estimated too roughly: rows are then on their way for longer than one rank tells. Taller tiles must save
    /// more: they make the loads of cores less even, by up to a fifth of the latency where the experts' rows differ a little.
    even: Option<f64>,
    /// The part of the estimated latency that another size must save. Where sizes differ by less, the larger ones stay, which are made
    /// for more rows than expected. Larger puts must save more: what rows wait for is only estimated to a sixteenth of an expert's.
    gain: f64,
}

impl Ladder {
    /// The latency with even tokens that another size must stay below, if it must.
    fn even_below(&self, before: &Latency) -> Option<f64> {
        self.even.map(|gain| before.even * (1.0 - gain))
    }

    /// The places to try from a place: its neighbours, or all of them for the columns of products and for gradients, where a narrow last
    /// tile or cores without one make good and bad sizes take turns.
    fn tried(&self, from: usize) -> impl Iterator<Item = usize> {
        let far = if ["TILE_N", "GRAD_M", "GRAD_N"].contains(&self.name) { self.values.len() } else { 1 };
        (self.least..self.values.len()).filter(move |&place| place != from && place.abs_diff(from) <= far)
    }
}

/// The columns of products.
const PRODUCT_COLUMNS: Ladder =
    Ladder { name: "TILE_N", values: &[32, 64, 128, 256], first: 3, least: 2, even: None, gain: 0.005 };

/// The rows of products.
const PRODUCT_ROWS: Ladder =
    Ladder { name: "TILE_M", values: &[16, 32, 64, 128, 256], first: 3, least: 3, even: Some(0.012), gain: 0.005 };
/// Those of kernels with gradients, whose tiles are more than half of the work and have all rows of an expert whatever the size.
const ROWS_BESIDE_GRADIENTS: Ladder = Ladder { even: Some(0.011), ..PRODUCT_ROWS };

/// The rows of puts.
const PUTS: Ladder = Ladder { name: "PUT", values: &[2, 4, 8, 16], first: 2, least: 2, even: Some(0.01), gain: 0.01 };

/// The tile sizes in the order in which they are chosen: those of products decide most. A gradient's rows come before its columns:
/// where one of them doubled saves the other, that costs less with uneven tokens.
const LADDERS: [Ladder; 7] = [
    PRODUCT_COLUMNS,
    PRODUCT_ROWS,
    Ladder { name: "GRAD_M", values: &[32, 64, 128, 256, 512], first: 3, least: 2, even: None, gain: 0.005 },
    Ladder { name: "GRAD_N", values: &[32, 64, 128, 256, 512], first: 3, least: 2, even: None, gain: 0.005 },
    PUTS,
    Ladder { name: "BLOCK", values: &[1, 2, 4, 8, 16, 32], first: 4, least: 2, even: Some(0.005), gain: 0.005 },
    Ladder {
        name: "COLUMNS",
        values: &[64, 128, 256, 512, 1024, 2048],
        first: 4,
        least: 3,
        even: Some(0.005),
        gain: 0.005,
    },
];

/// The rows of puts where a rank has few for an expert of another. With large puts, cores have unlike numbers of rows, and simulated
/// layers take up to 2 % longer, which is more than an estimate of the whole knows of single puts.
const SMALL_PUTS: Ladder = Ladder { values: &[2, 4, 8], ..PUTS };
/// The fewest rows of a rank for an expert that may be put in large pieces: four of them.
const ROWS_OF_LARGE_PUTS: usize = 64;

/// The columns of products where a launch does little but read weights. Narrow tiles take it as long as wide ones; but at its end all
/// cores wait for the last tile, and how many have one then no estimate tells.
const NARROW: Ladder = Ladder { first: 2, gain: 0.006, ..PRODUCT_COLUMNS };
/// The most rows of an expert with which products do little but read weights: half of those with which a matrix core multiplies for as long
/// as it reads.
const FEW_ROWS: usize = 64;

/// The estimated microseconds of all taskflows of a kernel.
///
/// Sizes are to be good for any routing. Tiles that come out even for one don't for another, and the larger they are, the longer is a
/// core that has one more; so uneven tokens count as much as even ones.
#[derive(Clone, Copy, Default)]
struct Latency {
    even: f64,
    /// The geometric means of the latencies with even and with uneven tokens.
    mean: f64,
}

impl Latency {
    fn add(&mut self, even: Time, uneven: Time) {
        self.even += even.us();
        self.mean += (even.us() * uneven.us()).sqrt();
    }

    /// Whether a size of a ladder with this latency is worth it.
    fn saves(&self, before: &Self, ladder: &Ladder) -> bool {
        self.mean < before.mean * (1.0 - ladder.gain) && ladder.even_below(before).is_none_or(|even| self.even < even)
    }
}

/// Chooses the tile sizes that a kernel leaves open and the build does not set, for a target. Where the kernel has faults whatever its
/// sizes, it is up to the front end to say so.
///
/// The same kernel gets the same sizes. They are found one after the other, from those that suit large tiles on.
///
/// # Errors
///
/// A sentence, if the expected number of ranks doesn't share the experts, or a rank can't have the expected tokens.
pub fn open_sizes(
    module: &ItemMod,
    set: &Overrides,
    target: &Target,
    expected: Expected,
) -> Result<NamedSizes, String> {
    expected.check()?;
    let open: Vec<String> = open_constants(module).into_iter().filter(|name| !set.contains(name)).collect();
    let ladders: Vec<&Ladder> = LADDERS.iter().filter(|ladder| open.iter().any(|name| name == ladder.name)).collect();
    if ladders.is_empty() {
        return Ok(NamedSizes::new());
    }
    let first: Vec<usize> = ladders.iter().map(|ladder| ladder.first).collect();
    let mut search = Search { module, set, target, expected, ladders, known: HashMap::new() };
    let best = match search.lowered(first.clone())? {
        Some((places, time)) => {
            let flows = search.flows(&places);
            search.suit(&flows);
            let (places, time) = search.narrowed(&flows, places, time)?;
            search.descend(places, time)?
        }
        None => first,
    };
    Ok(search.sizes(&best))
}

struct Search<'a> {
    module: &'a ItemMod,
    set: &'a Overrides,
    target: &'a Target,
    expected: Expected,
    ladders: Vec<&'static Ladder>,
    /// All places tried.
    known: HashMap<Vec<usize>, Known>,
}

/// What is known of sizes.
#[derive(Clone, Copy)]
enum Known {
    /// The kernel can't have them.
    Refused,
    Estimated(Latency),
    /// With even tokens it takes at least so many microseconds, which was too long for who asked.
    Slow(f64),
}

impl Known {
    /// Whether it answers who wants less than `below` microseconds with even tokens.
    fn answers(&self, below: Option<f64>) -> bool {
        !matches!(self, Self::Slow(even) if below.is_none_or(|below| *even < below))
    }

    fn latency(self) -> Option<Latency> {
        match self {
            Self::Estimated(latency) => Some(latency),
            Self::Refused | Self::Slow(_) => None,
        }
    }
}

impl Search<'_> {
    /// The first sizes that the kernel can have, and their time: all are made smaller until its memories hold the tiles.
    fn lowered(&mut self, mut places: Vec<usize>) -> Result<Option<(Vec<usize>, Latency)>, String> {
        loop {
            self.check_tokens(&places)?;
            if let Some(time) = self.time(&places, None)? {
                return Ok(Some((places, time)));
            }
            if places.iter().all(|&place| place == 0) {
                return Ok(None);
            }
            places.iter_mut().for_each(|place| *place = place.saturating_sub(1));
        }
    }

    /// The taskflows with sizes that the kernel can have.
    fn flows(&self, places: &[usize]) -> Vec<CheckedGraph> {
        front(self.module, &self.settings(places)).map_or_else(|_| Vec::new(), |kernel| kernel.flows)
    }

    /// Takes the ladders that suit the kernel: without large puts where ranks have fewer than [`ROWS_OF_LARGE_PUTS`] for an expert, and with
    /// taller tiles beside gradients.
    fn suit(&mut self, flows: &[CheckedGraph]) {
        let few_rows = flows.iter().any(|flow| {
            let Sizes { experts, tokens, top_k, .. } = flow.graph().sizes;
            tokens * top_k < ROWS_OF_LARGE_PUTS * experts
        });
        let gradients = flows.iter().any(|flow| needs_whole_experts(flow.graph()));
        for ladder in &mut self.ladders {
            match ladder.name {
                "PUT" if few_rows => *ladder = &SMALL_PUTS,
                "TILE_M" if gradients => *ladder = &ROWS_BESIDE_GRADIENTS,
                _ => {}
            }
        }
    }

    /// Begins with narrow tiles of products where a launch does little but read weights.
    fn narrowed(
        &mut self,
        flows: &[CheckedGraph],
        places: Vec<usize>,
        time: Latency,
    ) -> Result<(Vec<usize>, Latency), String> {
        let products = self.ladders.iter().position(|ladder| ladder.name == NARROW.name);
        let Some(products) = products else { return Ok((places, time)) };
        if !self.reads_weights(flows)? {
            return Ok((places, time));
        }
        self.ladders[products] = &NARROW;
        let mut narrow = places.clone();
        narrow[products] = narrow[products].min(NARROW.first);
        Ok(match self.time(&narrow, None)? {
            Some(time) => (narrow, time),
            None => (places, time),
        })
    }

    /// Whether no taskflow does much but read weights: its experts have [`FEW_ROWS`], and none of its tiles needs all rows of one.
    fn reads_weights(&self, flows: &[CheckedGraph]) -> Result<bool, String> {
        for flow in flows {
            let Sizes { experts, tokens, top_k, .. } = flow.graph().sizes;
            let few = tokens * top_k * self.ranks(experts)? as usize <= FEW_ROWS * experts;
            if !few || needs_whole_experts(flow.graph()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All that is set with these sizes, and the expected tokens.
    fn settings(&self, places: &[usize]) -> Overrides {
        let mut all = overrides(self.set, &self.sizes(places));
        if let Some(tokens) = self.expected.tokens {
            all.insert("TOKENS".to_owned(), tokens.into());
        }
        all
    }

    /// That a rank can have the expected tokens, if the kernel can have these sizes.
    fn check_tokens(&self, places: &[usize]) -> Result<(), String> {
        let Some(tokens) = self.expected.tokens else { return Ok(()) };
        let Ok(Front { flows, .. }) = front(self.module, &overrides(self.set, &self.sizes(places))) else {
            return Ok(());
        };
        let most = flows.iter().map(|flow| flow.graph().sizes.tokens).min().unwrap_or(tokens);
        if tokens <= most {
            return Ok(());
        }
        let kernel = &self.module.ident;
        Err(format!("kernel `{kernel}` takes from 1 to {most} tokens of a rank (`TOKENS`), but {tokens} are expected"))
    }

    /// The places to try for a size. The rows of a gradient's tiles are tried with all columns: where tall tiles don't save without narrower
    /// ones, or narrow ones without taller, both together may.
    fn moves(&self, ladder: usize, places: &[usize]) -> Vec<Vec<usize>> {
        let with = |ladder: usize, place: usize, places: &[usize]| {
            let mut next = places.to_vec();
            next[ladder] = place;
            next
        };
        let tried = |ladder: usize| self.ladders[ladder].tried(places[ladder]);
        let mut moves: Vec<_> = tried(ladder).map(|place| with(ladder, place, places)).collect();
        let columns = self.ladders.iter().position(|other| other.name == "GRAD_N");
        if let Some(columns) = columns.filter(|_| self.ladders[ladder].name == "GRAD_M") {
            let both = moves.iter().flat_map(|next| tried(columns).map(|place| with(columns, place, next)));
            let both: Vec<_> = both.collect();
            moves.extend(both);
        }
        moves
    }

    /// Gives one size after the other the value that saves most time, until none saves any.
    fn descend(&mut self, mut places: Vec<usize>, mut time: Latency) -> Result<Vec<usize>, String> {
        loop {
            let before = places.clone();
            for ladder in 0..places.len() {
                for next in self.moves(ladder, &places) {
                    let even = self.ladders[ladder].even_below(&time);
                    if let Some(less) = self.time(&next, even)?.filter(|less| less.saves(&time, self.ladders[ladder])) {
                        (places, time) = (next, less);
                    }
                }
            }
            if places == before {
                return Ok(places);
            }
        }
    }

    fn sizes(&self, places: &[usize]) -> NamedSizes {
        let sizes = self.ladders.iter().zip(places);
        sizes.map(|(ladder, &place)| (ladder.name.to_owned(), ladder.values[place])).collect()
    }

    /// The estimated latency of all taskflows of the kernel together; `None` if it can't have these sizes, or takes as long as `below`
    /// microseconds or longer with even tokens.
    fn time(&mut self, places: &[usize], below: Option<f64>) -> Result<Option<Latency>, String> {
        if let Some(known) = self.known.get(places).filter(|known| known.answers(below)) {
            return Ok(known.latency());
        }
        let known = self.estimate(places, below)?;
        self.known.insert(places.to_vec(), known);
        Ok(known.latency())
    }

    fn estimate(&self, places: &[usize], below: Option<f64>) -> Result<Known, String> {
        let Ok(Front { flows, .. }) = front(self.module, &self.settings(places)) else { return Ok(Known::Refused) };
        let mut sum = Latency::default();
        for flow in &flows {
            let ranks = self.ranks(flow.graph().sizes.experts)?;
            let worth = |even: Time| below.is_none_or(|below| sum.even + even.us() < below);
            match estimate(flow, self.target, ranks, worth) {
                Some(Estimate { even, uneven: Some(uneven) }) => sum.add(even, uneven),
                Some(Estimate { even, uneven: None }) => return Ok(Known::Slow(sum.even + even.us())),
                None => return Ok(Known::Refused),
            }
        }
        Ok(Known::Estimated(sum))
    }

    /// The ranks that are expected, which share the experts.
    fn ranks(&self, experts: usize) -> Result<u32, String> {
        let shared = |ranks: &u32| *ranks > 0 && experts % *ranks as usize == 0;
        match self.expected.ranks {
            None => Ok((1..=RANKS).rev().find(shared).unwrap_or(1)),
            Some(ranks) if shared(&ranks) && ranks <= MAX_RANKS => Ok(ranks),
            Some(ranks) => Err(format!(
                "kernel `{}` has {experts} experts, which {ranks} ranks don't share: name the ranks that its tile sizes are to be \
                 chosen for, at most {MAX_RANKS}",
                self.module.ident
            )),
        }
    }
}

#[cfg(test)]
mod tests;
