//! The search for the sizes with the least estimated latency.

use super::expected::Expected;
use super::fit::{fitted, least_of_columns};
use super::ladders::{BYTES_OF_PUTS, FEW_ROWS, MANY_PUTS, NARROW, OpenSize, ROWS_BESIDE_GRADIENTS, ROWS_OF_PUTS};
use super::latency::Latency;
use crate::analyze::CheckedGraph;
use crate::front::ReadModule;
use crate::graph::{Sizes, TaskGraph};
use crate::schedule::{Estimate, MAX_RANKS, estimate};
use crate::syntax::Overrides;
use crate::target::Target;
use crate::time::Time;
use crate::tuned::{NamedSizes, overrides};
use hpmoe_kernels::op::TaskKind;
use std::collections::{HashMap, HashSet};
use syn::ItemMod;

/// The state of the search, and its inputs.
pub(super) struct Search<'a> {
    name: String,
    module: ReadModule,
    set: &'a Overrides,
    target: &'a Target,
    expected: Expected,
    /// Tokens per rank of the estimated launches; `None` for the kernel's `TOKENS`.
    tokens: Option<usize>,
    /// The open sizes. In a combination of sizes, the number at the same index is the index of the size's value on its ladder.
    pub(super) open: Vec<OpenSize>,
    /// For each taskflow, the indices of the sizes that it depends on.
    of_flows: Vec<Vec<usize>>,
    /// For each taskflow, the results of all combinations of its sizes that have been estimated.
    known: Vec<HashMap<Vec<usize>, Known>>,
}

/// The result of estimating a taskflow with one combination of tile sizes.
#[derive(Clone, Copy)]
pub(super) enum Known {
    /// The taskflow can't have these sizes.
    Refused,
    Estimated(Latency),
    /// A lower bound in microseconds with even tokens, which was already too long for the caller.
    Slow(f64),
}

impl Known {
    /// Whether this result suffices for a caller that needs less than `below` microseconds with even tokens.
    pub(super) fn answers(&self, below: Option<f64>) -> bool {
        !matches!(self, Self::Slow(even) if below.is_none_or(|below| *even < below))
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(
        module: &ItemMod,
        set: &'a Overrides,
        target: &'a Target,
        expected: Expected,
        open: Vec<OpenSize>,
    ) -> Self {
        let (name, module) = (module.ident.to_string(), ReadModule::new(module));
        let tokens = expected.estimated(module.constant("TOKENS", set)).tokens;
        let depends = |names: &HashSet<String>| {
            (0..open.len()).filter(|&size| names.contains(&open[size].name)).collect::<Vec<_>>()
        };
        let of_flows: Vec<_> = module.names().iter().map(depends).collect();
        let known = vec![HashMap::new(); of_flows.len()];
        Self { name, module, set, target, expected, tokens, open, of_flows, known }
    }

    /// The best sizes. If the kernel can have none of those tried, the sizes that the search begins with.
    pub(super) fn best(mut self) -> Result<NamedSizes, String> {
        let first: Vec<usize> = self.open.iter().map(|size| size.ladder.first).collect();
        let Some((places, time)) = self.lowered(&first)? else { return Ok(self.sizes(&first)) };
        let flows = self.flows(&places);
        self.suit(&flows);
        let (places, time) = self.narrowed(&flows, places, time)?;
        let best = self.descend(places, time)?;
        let sizes = self.sizes(&best);
        let ranks = self.most_ranks(&flows);
        Ok(fitted(&mut self.module, (self.set, ranks), sizes))
    }

    /// The first combination of sizes that the kernel can have, and its latency.
    fn lowered(&mut self, first: &[usize]) -> Result<Option<(Vec<usize>, Latency)>, String> {
        for places in lower(first) {
            self.check_tokens(&places)?;
            if let Some(time) = self.time(&places, None)? {
                return Ok(Some((places, time)));
            }
        }
        Ok(None)
    }

    /// The checked taskflows with these sizes; empty if the kernel can't have them.
    pub(super) fn flows(&mut self, places: &[usize]) -> Vec<CheckedGraph> {
        self.module.check(&self.settings(places)).unwrap_or_default()
    }

    /// Selects the ladders that suit the kernel: puts that are no larger than an expert's rows need, large puts only if there are many, and
    /// taller tiles if it makes gradients. Puts may be larger than a rank's rows for an expert, because they are cut at numbers of the expert's
    /// rows: three rows of a rank are two puts if the boundary of a put lies between them.
    pub(super) fn suit(&mut self, flows: &[CheckedGraph]) {
        // The rows of an expert that all ranks send together, and the rows that one of them sends.
        let ranks = self.most_ranks(flows) as usize;
        let of_experts = flows.iter().map(|flow| {
            let Sizes { experts, tokens, top_k, .. } = flow.graph().sizes;
            tokens * top_k * ranks / experts
        });
        let of_expert = of_experts.min().unwrap_or_default();
        let of_rank = of_expert / ranks;
        let row_bytes = flows.iter().map(|flow| bytes_of_put_rows(flow.graph())).max().unwrap_or_default();
        let gradients = flows.iter().any(|flow| flow.graph().needs_whole_experts());
        for OpenSize { name, ladder } in &mut self.open {
            match name.as_str() {
                "PUT" => {
                    let large = |put: usize| put > ROWS_OF_PUTS && put.min(of_rank) * row_bytes > BYTES_OF_PUTS;
                    let fits = |put: usize| put < 2 * of_expert && (!large(put) || put * MANY_PUTS <= of_rank);
                    let fit = ladder.values.iter().filter(|&&put| fits(put)).count();
                    ladder.values = &ladder.values[..fit.max(ladder.first + 1)];
                }
                "TILE_M" if gradients => *ladder = ROWS_BESIDE_GRADIENTS,
                _ => {}
            }
        }
    }

    /// Starts with narrow tiles of products if a launch mainly reads weights.
    fn narrowed(
        &mut self,
        flows: &[CheckedGraph],
        places: Vec<usize>,
        time: Latency,
    ) -> Result<(Vec<usize>, Latency), String> {
        let Some(products) = self.place_of("TILE_N") else { return Ok((places, time)) };
        if !self.reads_weights(flows)? {
            return Ok((places, time));
        }
        self.open[products].ladder = NARROW;
        let mut narrow = places.clone();
        narrow[products] = narrow[products].min(NARROW.first);
        Ok(match self.time(&narrow, None)? {
            Some(time) => (narrow, time),
            None => (places, time),
        })
    }

    /// Whether all taskflows mainly read weights: their experts have at most [`FEW_ROWS`] rows, and no tile needs all rows of an expert.
    fn reads_weights(&self, flows: &[CheckedGraph]) -> Result<bool, String> {
        for flow in flows {
            let Sizes { experts, tokens, top_k, .. } = flow.graph().sizes;
            let few = tokens * top_k * self.ranks(experts)? as usize <= FEW_ROWS * experts;
            if !few || flow.graph().needs_whole_experts() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The constants that the build sets, these sizes, and the expected number of tokens.
    fn settings(&self, places: &[usize]) -> Overrides {
        let mut all = overrides(self.set, &self.sizes(places));
        if let Some(tokens) = self.tokens {
            all.insert("TOKENS".to_owned(), tokens.into());
        }
        all
    }

    /// Checks that a rank can have the expected number of tokens, if the kernel can have these sizes.
    fn check_tokens(&mut self, places: &[usize]) -> Result<(), String> {
        let Some(tokens) = self.expected.tokens else { return Ok(()) };
        let Ok(flows) = self.module.check(&overrides(self.set, &self.sizes(places))) else { return Ok(()) };
        let most = flows.iter().map(|flow| flow.graph().sizes.tokens).min().unwrap_or(tokens);
        if tokens <= most {
            return Ok(());
        }
        let kernel = &self.name;
        Err(format!("kernel `{kernel}` takes 1 to {most} tokens per rank (`TOKENS`), but the build expects {tokens}"))
    }

    /// The combinations to try for a size. The rows of a gradient's tiles are tried with all columns: taller tiles may save time only
    /// together with narrower ones.
    pub(super) fn moves(&self, size: usize, places: &[usize]) -> Vec<Vec<usize>> {
        let with = |size: usize, place: usize, places: &[usize]| {
            let mut next = places.to_vec();
            next[size] = place;
            next
        };
        let tried = |size: usize| self.open[size].ladder.tried(places[size], self.enough(size, places));
        let mut moves: Vec<_> = tried(size).map(|place| with(size, place, places)).collect();
        if let Some(columns) = self.place_of("GRAD_N").filter(|_| self.open[size].name == "GRAD_M") {
            let of_columns: Vec<usize> = tried(columns).collect();
            let both = moves.iter().flat_map(|next| of_columns.iter().map(|&place| with(columns, place, next)));
            let both: Vec<_> = both.collect();
            moves.extend(both);
        }
        moves
    }

    /// The least value of an open size with which tiles are the same as with all larger values, if the other sizes stay; `usize::MAX` if there
    /// is none.
    fn enough(&self, size: usize, places: &[usize]) -> usize {
        let OpenSize { name, ladder } = &self.open[size];
        let largest = ladder.values.last().copied().unwrap_or_default();
        least_of_columns(&self.module, &self.settings(places), name, largest).unwrap_or(usize::MAX)
    }

    /// Changes one size after another to values that save enough time, until no change saves enough.
    fn descend(&mut self, mut places: Vec<usize>, mut time: Latency) -> Result<Vec<usize>, String> {
        loop {
            let before = places.clone();
            for size in 0..places.len() {
                let ladder = self.open[size].ladder;
                for next in self.moves(size, &places) {
                    let less = self.time(&next, ladder.even_below(&time))?;
                    if let Some(less) = less.filter(|less| ladder.saves(less, &time)) {
                        (places, time) = (next, less);
                    }
                }
            }
            if places == before {
                return Ok(places);
            }
        }
    }

    pub(super) fn sizes(&self, places: &[usize]) -> NamedSizes {
        let sizes = self.open.iter().zip(places);
        sizes.map(|(size, &place)| (size.name.clone(), size.ladder.values[place])).collect()
    }

    /// The index of an open size; `None` if this size is not open.
    fn place_of(&self, name: &str) -> Option<usize> {
        self.open.iter().position(|size| size.name == name)
    }

    /// The estimated latency of all taskflows of the kernel together; `None` if it can't have these sizes, or takes as long as `below`
    /// microseconds or longer with even tokens.
    pub(super) fn time(&mut self, places: &[usize], below: Option<f64>) -> Result<Option<Latency>, String> {
        let mut sum = Latency::default();
        for flow in 0..self.of_flows.len() {
            match self.time_of_flow(flow, places, below.map(|below| below - sum.even))? {
                Known::Estimated(latency) => sum.add(latency),
                Known::Refused | Known::Slow(_) => return Ok(None),
            }
        }
        Ok(Some(sum))
    }

    /// The estimated latency of one taskflow. It is not estimated again if only sizes that the taskflow doesn't depend on have changed.
    fn time_of_flow(&mut self, flow: usize, places: &[usize], below: Option<f64>) -> Result<Known, String> {
        let own: Vec<usize> = self.of_flows[flow].iter().map(|&size| places[size]).collect();
        if let Some(known) = self.known[flow].get(&own).filter(|known| known.answers(below)) {
            return Ok(*known);
        }
        let known = self.estimate(flow, places, below)?;
        self.known[flow].insert(own, known);
        Ok(known)
    }

    fn estimate(&mut self, flow: usize, places: &[usize], below: Option<f64>) -> Result<Known, String> {
        let Some(mut flow) = self.module.check_one(flow, &self.settings(places)) else { return Ok(Known::Refused) };
        flow.name_ranks(self.expected.ranks.as_slice());
        let ranks = self.ranks(flow.graph().sizes.experts)?;
        let needs_uneven = |even: Time| below.is_none_or(|below| even.us() < below);
        Ok(match estimate(&flow, self.target, ranks, needs_uneven) {
            Some(Estimate { even, uneven: Some(uneven) }) => Known::Estimated(Latency::new(even, uneven)),
            Some(Estimate { even, uneven: None }) => Known::Slow(even.us()),
            None => Known::Refused,
        })
    }

    /// The largest number of ranks for which a taskflow is estimated; 1 if there is none.
    fn most_ranks(&self, flows: &[CheckedGraph]) -> u32 {
        flows.iter().filter_map(|flow| self.ranks(flow.graph().sizes.experts).ok()).max().unwrap_or(1)
    }

    /// The expected number of ranks.
    fn ranks(&self, experts: usize) -> Result<u32, String> {
        match self.expected.ranks {
            None => Ok(self.expected.ranks_for(experts)),
            Some(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
            Some(ranks) => Err(format!(
                "kernel `{}` can't be launched on {ranks} ranks: choose from 1 to {MAX_RANKS} ranks",
                self.name
            )),
        }
    }
}

/// Bytes of the longest row that a task puts.
fn bytes_of_put_rows(graph: &TaskGraph) -> usize {
    let puts = graph.tasks.iter().filter(|(_, task)| task.kind == TaskKind::Put);
    let rows = puts.flat_map(|(_, task)| task.params.iter().map(|param| param.shape));
    rows.map(|shape| shape.cols * shape.element.bytes()).max().unwrap_or_default()
}

/// The combinations to begin with, in the order in which they are tried: the first values, then one size made smaller, then all of them.
/// The search takes the first one that the kernel's memories hold.
fn lower(first: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let one = (0..first.len()).flat_map(move |size| {
        (0..first[size]).rev().map(move |place| {
            let mut places = first.to_vec();
            places[size] = place;
            places
        })
    });
    let most = first.iter().copied().max().unwrap_or_default();
    let all = (1..=most).map(move |steps| first.iter().map(|place| place.saturating_sub(steps)).collect());
    std::iter::once(first.to_vec()).chain(one).chain(all)
}
