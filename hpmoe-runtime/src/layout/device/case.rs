//! Random launches, for comparing device and host.

use hpmoe_kernels::route::ExpertOrder;
use hpmoe_kernels::{PerRank, Placement, RAGGED, Rank, Ranks, Route, RouteError};

use crate::abi::{
    HPMOE_ARRIVALS, HPMOE_BLOCKS, HPMOE_CHUNKS, HPMOE_EXPERTS, HPMOE_ONCE_TILES, HPMOE_ROW_TILES, HPMOE_SENDS,
    HPMOE_SENDS_ONCE,
};
use crate::check;
use crate::layout::RankSizes;
use crate::tables::SpaceTable;

/// Maximum number of row tiles of an expert (`routing/share.h`).
const MOST_TILES: usize = 2048;

/// A random number generator: equal seeds give equal numbers.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    /// A number from `least` to `most`.
    pub(super) fn within(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// True with probability 1 / `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// In half of the cases, a number of groups that divides `experts` and `top_k`, if there is one.
    fn groups(&mut self, experts: usize, top_k: usize) -> Option<usize> {
        let divides = |groups: &usize| experts % *groups == 0 && top_k % *groups == 0;
        let all: Vec<usize> = (2..=top_k).filter(divides).collect();
        if all.is_empty() || self.once_in(2) { None } else { Some(all[self.below(all.len())]) }
    }

    /// A number up to `most`, with an approximately uniform logarithm.
    fn spread(&mut self, most: usize) -> usize {
        let bits = self.within(0, most.ilog2() as usize);
        self.within(1, (2 << bits).min(most + 1) - 1)
    }
}

/// The routing of a launch, and the features of its kernel.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) ranks: usize,
    pub(super) experts: usize,
    /// Number of places for experts per rank beyond its even share.
    pub(super) spare: usize,
    /// Placement of the experts; `None` if they are consecutive.
    pub(super) placement: Option<Placement>,
    /// A rank with a different placement, and that placement.
    pub(super) other_placement: Option<(usize, Placement)>,
    pub(super) top_k: usize,
    pub(super) chunks: usize,
    /// Largest number of chunks, if the launch chooses the number.
    pub(super) at_most: Option<usize>,
    /// Whether chunks add to matrices of experts.
    pub(super) sums: bool,
    /// Maximum number of rows that a rank can receive in a chunk; `None` for the default.
    pub(super) capacity: Option<usize>,
    /// Maximum number of tokens per rank.
    pub(super) tokens: usize,
    pub(super) order: ExpertOrder,
    pub(super) once: bool,
    /// Number of groups, if routing is group-limited.
    pub(super) groups: Option<usize>,
    /// Number of vector cores; there are two per matrix core.
    pub(super) cores: usize,
    pub(super) ids: Vec<Vec<i32>>,
    pub(super) spaces: Vec<SpaceTable>,
    /// Number of phases before the route. Their spaces are blocks of tokens.
    pub(super) before: u32,
    /// Number of the launch.
    pub(super) launch: i32,
}

impl Case {
    pub(super) fn new(seed: u64) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // So many ranks and chunks that a rank's arrivals don't fit into UB at once.
        let wide = draw.once_in(40);
        // Or more slots than a core has room to keep for its experts, so that it processes them in several blocks.
        let long = !wide && draw.once_in(40);
        let ranks = if wide || !long && draw.once_in(16) {
            draw.within(65, 256)
        } else {
            draw.within(1, if long { 3 } else { 64 })
        };
        let local = if wide { 1 } else { draw.spread(1024 / ranks) };
        let experts = ranks * local;
        let most_chunks = 2048 / experts;
        let chunks = match draw.below(3) {
            _ if wide => most_chunks.min(64),
            0 => draw.within(2, 6).min(most_chunks),
            _ => 1,
        };
        let once = chunks == 1 && draw.once_in(3);
        let top_k = draw.within(if long { 16.min(experts) } else { 1 }, 16.min(experts));
        let tokens = if long {
            1200
        } else if draw.once_in(12) {
            draw.within(200, 1500)
        } else {
            draw.within(1, 48)
        };
        let gaps = [0, 0, 4, 2][draw.below(4)];
        let skew = draw.once_in(3);
        let groups = draw.groups(experts, top_k);
        let ids: Vec<Vec<i32>> = (0..ranks)
            .map(|_| {
                let tokens = if draw.once_in(5) { 0 } else { draw.within(0, tokens) };
                (0..tokens).flat_map(|_| token(&mut draw, experts, top_k, groups, gaps, skew)).collect()
            })
            .collect();
        let mut spaces = spaces(&mut draw, chunks > 1, once);
        // With more tiles per expert, a kernel can't order them by arrival (`limits.rs`).
        let least = most_rows(&ids, experts).div_ceil(MOST_TILES) as u32;
        let tiles = spaces.iter_mut().filter(|space| space.kind == HPMOE_ROW_TILES);
        tiles.for_each(|space| space.height = space.height.max(least));
        let cores = [2, 2, 2, 4, 4, 6][draw.below(6)];
        let order = expert_order(&mut draw);
        // Launch numbers wrap after the largest one.
        let launch = if draw.once_in(8) { i32::MAX } else { 0 }.wrapping_add(draw.within(0, 8) as i32);
        let before = draw.below(3) as u32;
        let (spare, placement, other_placement) = (0, None, None);
        Self {
            ranks,
            experts,
            spare,
            placement,
            other_placement,
            top_k,
            chunks,
            at_most: None,
            sums: false,
            capacity: None,
            tokens,
            order,
            once,
            groups,
            cores,
            ids,
            spaces,
            before,
            launch,
        }
    }

    /// A case with an arbitrary placement, in which some experts have several places.
    pub(super) fn placed(seed: u64) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
        let ranks = if draw.once_in(3) { draw.within(9, 64) } else { draw.within(1, 8) };
        let most = 2048 / ranks;
        let usual = if draw.once_in(20) { most } else { most.min(64) };
        let (spare, share) = (draw.below(4), draw.spread(usual));
        let local = (share + spare).min(most);
        let share = local - spare;
        // In half of the cases, the ranks don't divide the experts evenly.
        let experts = ranks * share - if draw.once_in(2) { 0 } else { draw.below(ranks) };
        let chunks = [1, 1, 1, draw.within(2, 6), 64][draw.below(5)].min(most / local);
        let sizes = |chunks| RankSizes {
            ranks,
            experts,
            local_experts: local,
            top_k: 1,
            chunks,
            chunks_at_most: None,
            counts_parts: false,
            tokens: chunks,
            chunk_tokens: 1,
            token_rows: 1,
            capacity: 1,
            processes: false,
        };
        let fits = |chunks: &usize| check::placed_arrivals_fit(&sizes(*chunks)) || ranks * local * chunks <= 1024;
        let chunks = (1..=chunks).rev().find(fits);
        let Some(chunks) = chunks else { return Self::placed(seed.wrapping_add(1 << 40)) };
        let top_k = draw.within(1, 12.min(experts));
        let tokens = if draw.once_in(10) { draw.within(200, 1500) } else { draw.within(1, 48) };
        let (gaps, skew) = ([0, 0, 4][draw.below(3)], draw.once_in(3));
        let ids: Vec<Vec<i32>> = (0..ranks)
            .map(|_| {
                let tokens = if draw.once_in(5) { 0 } else { draw.within(0, tokens) };
                (0..tokens).flat_map(|_| token(&mut draw, experts, top_k, None, gaps, skew)).collect()
            })
            .collect();
        let mut case = Self::new(seed);
        let least = most_rows(&ids, experts).div_ceil(MOST_TILES) as u32;
        case.spaces = spaces(&mut draw, chunks > 1, false);
        let tiles = case.spaces.iter_mut().filter(|space| space.kind == HPMOE_ROW_TILES);
        tiles.for_each(|space| space.height = space.height.max(least));
        let placement = Some(placement(&mut draw, ranks, experts, spare));
        Self { ranks, experts, spare, placement, top_k, chunks, tokens, once: false, groups: None, ids, ..case }
    }

    /// Number of counts of a rank: one per chunk and expert.
    pub(super) const fn pairs(&self) -> usize {
        self.experts * self.chunks
    }

    /// The sign of the counts in this launch. It changes after every second launch.
    pub(super) const fn sign(&self) -> i32 {
        if (self.launch as u32 / 2) % 2 == 0 { 1 } else { -1 }
    }

    /// A case that is launch number `launch` in a sequence of launches of the same kernel, on few ranks.
    pub(super) fn in_a_row(seed: u64, launch: i32) -> Self {
        let mut draw = Draw(seed);
        let (ranks, local, top_k) = (draw.within(1, 6), draw.within(1, 8), draw.within(1, 3));
        let (experts, chunks) = (ranks * local, draw.within(1, 3));
        let top_k = top_k.min(experts);
        let spaces = spaces(&mut draw, chunks > 1, chunks == 1);
        let (cores, order, once) = (2 * draw.within(1, 3), expert_order(&mut draw), chunks == 1);
        let mut draw = Draw(seed ^ (launch as u64) << 20);
        let mut tokens =
            || (0..draw.within(0, 20)).flat_map(|_| token(&mut draw, experts, top_k, None, 4, false)).collect();
        let ids = (0..ranks).map(|_| tokens()).collect();
        let (tokens, groups, before) = (20, None, 0);
        let (spare, placement, other_placement) = (0, None, None);
        Self {
            ranks,
            experts,
            spare,
            placement,
            other_placement,
            top_k,
            chunks,
            at_most: None,
            sums: false,
            capacity: None,
            tokens,
            order,
            once,
            groups,
            cores,
            ids,
            spaces,
            before,
            launch,
        }
    }

    pub(super) fn route(&self) -> Result<Route, RouteError> {
        let ids: PerRank<Vec<i32>> = self.ids.iter().cloned().collect();
        let route = match &self.placement {
            None => Route::from_ids(Ranks::new(self.ranks), self.experts, self.top_k, &ids)?,
            Some(placement) => Route::from_placed_ids(placement, self.top_k, &ids)?,
        };
        match self.groups {
            Some(groups) => route.grouped(groups),
            None => Ok(route),
        }
    }

    /// Makes one id of a rank faulty, and returns the rank.
    pub(super) fn spoil(&mut self, draw: &mut Draw) -> Option<Rank> {
        let full: Vec<usize> = (0..self.ranks).filter(|&rank| !self.ids[rank].is_empty()).collect();
        let rank = *full.get(draw.below(full.len().max(1)))?;
        let slot = draw.below(self.ids[rank].len());
        let other = slot / self.top_k * self.top_k + draw.below(self.top_k);
        // In half of the cases, the first invalid id.
        let beyond = draw.below(2) * draw.below(1 << 20);
        let elsewhere = self.groups.map(|groups| {
            let (group, of_group) = (self.experts / groups, self.top_k / groups);
            let own = slot % self.top_k / of_group;
            let (next, last) = ((own + 1) % groups, (own + groups - 1) % groups);
            let any = draw.below(group);
            [next * group, last * group + group - 1, next * group + any][draw.below(3)] as i32
        });
        let of_group = self.groups.map_or(self.top_k, |groups| self.top_k / groups);
        let same_group = slot % self.top_k / of_group == other % self.top_k / of_group;
        let ids = &mut self.ids[rank];
        let token = slot / self.top_k * self.top_k;
        let elsewhere = elsewhere.filter(|id| !ids[token..token + self.top_k].contains(id));
        ids[slot] = match draw.below(3) {
            _ if elsewhere.is_some() && draw.once_in(2) => elsewhere.unwrap_or_default(),
            // Only one fault, so that no other one is found first.
            0 if other != slot && ids[other] >= 0 && same_group => ids[other],
            1 => -2 - beyond as i32,
            _ => (self.experts + beyond) as i32,
        };
        Some(Rank::new(rank))
    }
}

/// A placement with experts on random ranks, copies of some experts, and empty places.
pub(super) fn placement(draw: &mut Draw, ranks: usize, experts: usize, spare: usize) -> Placement {
    let ep = Ranks::new(ranks);
    let mut places = Placement::even(ep, experts, spare).expect("there are experts and ranks").physical_to_logical();
    let local = places.len() / ranks;
    let held =
        |places: &[Option<usize>], rank: usize, expert: usize| places[rank * local..][..local].contains(&Some(expert));
    // Swaps that leave no expert twice on a rank, and copies into empty places.
    for _ in 0..2 * places.len() {
        let [one, other] = [0; 2].map(|_| draw.below(places.len()));
        let fits =
            |expert: Option<usize>, place: usize| expert.is_none_or(|expert| !held(&places, place / local, expert));
        if one / local == other / local || (fits(places[one], other) && fits(places[other], one)) {
            places.swap(one, other);
        }
        let (place, expert) = (draw.below(places.len()), draw.below(experts));
        if places[place].is_none() && !held(&places, place / local, expert) && draw.once_in(2) {
            places[place] = Some(expert);
        }
    }
    let placed = Placement::new(ep, experts, &places).expect("a placement");
    if draw.once_in(2) {
        return placed;
    }
    let shares: Vec<u32> = places.iter().map(|_| [1, 1, 2, 7, 0, 100_000][draw.below(6)]).collect();
    placed.with_shares(&shares).unwrap_or(placed)
}

/// Number of rows of the expert that gets the most rows.
fn most_rows(ids: &[Vec<i32>], experts: usize) -> usize {
    let mut rows = vec![0; experts];
    ids.iter().flatten().filter(|id| **id >= 0).for_each(|id| rows[*id as usize] += 1);
    rows.into_iter().max().unwrap_or(0)
}

fn expert_order(draw: &mut Draw) -> ExpertOrder {
    [ExpertOrder::Number, ExpertOrder::Load, ExpertOrder::Mixed, ExpertOrder::LightestFirst][draw.below(4)]
}

/// The ids of a token: different ones; with `gaps`, about one slot in `gaps` is empty.
fn token(draw: &mut Draw, experts: usize, top_k: usize, groups: Option<usize>, gaps: usize, skew: bool) -> Vec<i32> {
    let groups = groups.unwrap_or(1);
    let (group, of_group) = (experts / groups, top_k / groups);
    let mut ids: Vec<i32> = Vec::with_capacity(top_k);
    while ids.len() < top_k {
        let most = if skew && !draw.once_in(4) { group.div_ceil(8).max(of_group) } else { group };
        let first = ids.len() / of_group * group;
        let id = if gaps > 0 && draw.once_in(gaps) { -1 } else { (first + draw.below(most.min(group))) as i32 };
        if id < 0 || !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// A list of spaces of all kinds, some of them more than once.
fn spaces(draw: &mut Draw, chunked: bool, once: bool) -> Vec<SpaceTable> {
    let mut height = |least: usize| [1, 2, 3, 8, 16, 100, 128][draw.within(least, 6)] as u32;
    let mut spaces = vec![
        SpaceTable { kind: HPMOE_ROW_TILES, height: height(2) },
        SpaceTable { kind: HPMOE_ROW_TILES, height: height(2) },
        SpaceTable { kind: HPMOE_ROW_TILES, height: RAGGED as u32 },
        SpaceTable { kind: HPMOE_SENDS, height: height(0) },
        SpaceTable { kind: HPMOE_ARRIVALS, height: height(0) },
        SpaceTable { kind: HPMOE_BLOCKS, height: height(0) },
        SpaceTable { kind: HPMOE_EXPERTS, height: RAGGED as u32 },
    ];
    if chunked {
        spaces.push(SpaceTable { kind: HPMOE_CHUNKS, height: 1 });
    }
    if once {
        spaces.push(SpaceTable { kind: HPMOE_SENDS_ONCE, height: height(0) });
        spaces.push(SpaceTable { kind: HPMOE_ONCE_TILES, height: height(0) });
    }
    spaces
}
