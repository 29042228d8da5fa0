//! The cases of the sweep: models, sizes, passes and routings.

use hpmoe_simulator::baseline::{Direction, LayerShape};
use hpmoe_simulator::simulate::{Routing, RoutingSizes};
use std::collections::BTreeMap;
use std::fmt;

/// The expert layer of a model.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) hidden: u32,
    pub(crate) inter: u32,
    pub(crate) experts: u32,
    pub(crate) top_k: u32,
}

const fn model(name: &'static str, sizes: [u32; 4]) -> Model {
    let [hidden, inter, experts, top_k] = sizes;
    Model { name, hidden, inter, experts, top_k }
}

/// The models, each with hidden size, intermediate size of an expert, number of experts, and number of experts per
/// token.
pub(crate) const MODELS: [Model; 7] = [
    model("Qwen3-235B", [4096, 1536, 128, 8]),
    model("Kimi-K2", [7168, 2048, 384, 8]),
    model("gpt-oss-120b", [2880, 2880, 128, 4]),
    model("Mixtral", [4096, 14336, 8, 2]),
    model("GLM-4.5", [5120, 1536, 160, 8]),
    model("DeepSeek-V3", [7168, 2048, 256, 8]),
    model("MiniMax-M2", [3072, 1536, 256, 8]),
];

pub(crate) const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];
/// Numbers of tokens per rank.
pub(crate) const TOKENS: [u32; 6] = [16, 64, 256, 1024, 4096, 8192];
/// Numbers of ranks in a group. Each model is simulated on those that divide its number of experts.
pub(crate) const RANKS: [u32; 4] = [2, 8, 32, 64];
/// Values of `sync.tile_overhead_ns`, in nanoseconds.
pub(crate) const OVERHEADS: [u32; 2] = [200, 900];

/// How tokens choose experts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum RoutingKind {
    Balanced,
    Zipf,
    Drifting,
}

pub(crate) const ROUTINGS: [RoutingKind; 3] = [RoutingKind::Balanced, RoutingKind::Zipf, RoutingKind::Drifting];

/// The exponent of random routings, and a seed that is not used to tune schedules.
const EXPONENT: f64 = 1.2;
const SEED: u64 = 101;

impl RoutingKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Zipf => "zipf",
            Self::Drifting => "drifting",
        }
    }

    fn routing(self, sizes: RoutingSizes) -> Routing {
        match self {
            Self::Balanced => Routing::balanced(sizes),
            Self::Zipf => Routing::zipf(sizes, EXPONENT, SEED),
            Self::Drifting => Routing::drifting(sizes, EXPONENT, SEED),
        }
    }
}

/// A layer of a model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Layer {
    /// Index of the model in [`MODELS`].
    pub(crate) model: usize,
    pub(crate) direction: Direction,
    pub(crate) tokens: u32,
    /// The overhead of a tile in nanoseconds.
    pub(crate) overhead: u32,
}

/// A layer with a number of ranks. A build chooses its tile sizes once for all routings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Build {
    pub(crate) layer: Layer,
    pub(crate) ranks: u32,
}

/// A layer on a number of ranks, with a routing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Case {
    pub(crate) layer: Layer,
    pub(crate) ranks: u32,
    pub(crate) routing: RoutingKind,
}

impl Layer {
    pub(crate) const fn model(&self) -> &'static Model {
        &MODELS[self.model]
    }
}

impl Case {
    pub(crate) fn routing(&self) -> Routing {
        let Model { experts, top_k, .. } = *self.layer.model();
        self.routing.routing(RoutingSizes { ranks: self.ranks, experts, top_k, tokens: self.layer.tokens })
    }

    pub(crate) fn shape(&self) -> LayerShape {
        let Model { hidden, inter, experts, top_k, .. } = *self.layer.model();
        LayerShape { ranks: self.ranks, tokens: self.layer.tokens, experts, top_k, hidden, intermediate: inter }
    }
}

/// Prints model, pass, tokens, ranks, routing and tile overhead.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layer { direction, tokens, overhead, .. } = self.layer;
        let (model, direction, routing) = (self.layer.model().name, direction.name(), self.routing.name());
        write!(f, "{model} {direction} {tokens} EP{} {routing} {overhead}", self.ranks)
    }
}

/// All cases, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let layers = (0..MODELS.len()).flat_map(|model| {
        DIRECTIONS.into_iter().flat_map(move |direction| {
            TOKENS.into_iter().flat_map(move |tokens| {
                OVERHEADS.into_iter().map(move |overhead| Layer { model, direction, tokens, overhead })
            })
        })
    });
    layers.flat_map(|layer| {
        let ranks = RANKS.into_iter().filter(move |ranks| layer.model().experts % *ranks == 0);
        ranks.flat_map(move |ranks| ROUTINGS.into_iter().map(move |routing| Case { layer, ranks, routing }))
    })
}

/// The name of the first case, which serves as an example.
pub(crate) fn example() -> String {
    all().next().map(|case| case.to_string()).unwrap_or_default()
}

/// The cases of each build. Builds that differ only in the overhead of a tile are grouped.
pub(crate) fn by_build(cases: &[Case]) -> Vec<Vec<(Build, Vec<Case>)>> {
    let mut builds: BTreeMap<Build, Vec<Case>> = BTreeMap::new();
    for &case in cases {
        builds.entry(Build { layer: case.layer, ranks: case.ranks }).or_default().push(case);
    }
    let mut alike: BTreeMap<Build, Vec<(Build, Vec<Case>)>> = BTreeMap::new();
    for (build, cases) in builds {
        let layer = Layer { overhead: 0, ..build.layer };
        alike.entry(Build { layer, ..build }).or_default().push((build, cases));
    }
    alike.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases: Vec<Case> = all().collect();
        assert!(cases.is_sorted());
        // Six models on two, eight and 32 ranks, five of them on 64 too, Mixtral on two and eight.
        assert_eq!(cases.len(), (6 * 3 + 5 + 2) * 6 * 2 * 2 * 3);
        let names: BTreeMap<String, Case> = cases.iter().map(|&case| (case.to_string(), case)).collect();
        assert_eq!(names.len(), cases.len());
        let builds = by_build(&cases);
        assert_eq!(builds.len() * OVERHEADS.len() * ROUTINGS.len(), cases.len());
        assert!(builds.iter().all(|alike| alike.len() == OVERHEADS.len() && alike[0].0.ranks == alike[1].0.ranks));
    }
}
