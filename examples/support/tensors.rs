//! The tensors of a routed layer, divided among the ranks of a group.

use super::example::Sizes;
use super::layer::Layer;
use hpmoe_runtime::prelude::*;

/// The tensors of every layer.
pub struct Tensors<const HIDDEN: usize, const INTER: usize, const TOP_K: usize> {
    pub ep: Ranks,
    pub route: Route,
    pub x: PerRank<Tensor<bf16, HIDDEN>>,
    pub weights: PerRank<Tensor<f32, TOP_K>>,
    pub gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    pub up: PerRank<Experts<bf16, INTER, HIDDEN>>,
    pub down: PerRank<Experts<bf16, HIDDEN, INTER>>,
}

impl<const HIDDEN: usize, const INTER: usize, const TOP_K: usize> Tensors<HIDDEN, INTER, TOP_K> {
    /// Divides a layer's tensors for a kernel of these sizes, for the ranks in this process.
    pub fn of(layer: &Layer, group: &Group, sizes: &Sizes) -> Result<Self, String> {
        let ep = group.ranks();
        sizes.check(layer, ep)?;
        let ids: PerRank<Tensor<i32, TOP_K>> = layer.by_tokens(ep, &layer.topk_ids);
        Ok(Self {
            ep,
            route: Route::gather(group, sizes.experts, &ids).map_err(|error| error.to_string())?,
            x: layer.by_tokens(ep, &layer.hidden_states),
            weights: layer.by_tokens(ep, &layer.topk_weights),
            gate: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, 0),
            up: layer.by_experts(ep, &layer.gate_up_proj, 2 * INTER, INTER),
            down: layer.by_experts(ep, &layer.down_proj, HIDDEN, 0),
        })
    }

    /// A tensor of zeros for the result.
    pub fn output(&self) -> PerRank<Tensor<bf16, HIDDEN>> {
        PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.x[rank].row_count()))
    }

    /// The result of a taskflow with these arguments, called as an ordinary function.
    pub fn reference(&self, forward: Forward<HIDDEN, INTER, TOP_K>) -> Vec<f32> {
        let mut y = self.output();
        forward(self.ep, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y);
        numbers(&y)
    }

    /// The result of a taskflow's megakernel on the ranks in this process.
    pub fn launch(
        &self,
        group: &Group,
        launch: Launch<HIDDEN, INTER, TOP_K>,
    ) -> Result<(Vec<f32>, Report), LaunchError> {
        let mut y = self.output();
        let report = launch(group, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y)?;
        Ok((numbers(&y), report))
    }
}

/// A taskflow whose arguments are those of [`Tensors`].
type Forward<const HIDDEN: usize, const INTER: usize, const TOP_K: usize> = fn(
    Ranks,
    &Route,
    &PerRank<Tensor<bf16, HIDDEN>>,
    &PerRank<Tensor<f32, TOP_K>>,
    &PerRank<Experts<bf16, INTER, HIDDEN>>,
    &PerRank<Experts<bf16, INTER, HIDDEN>>,
    &PerRank<Experts<bf16, HIDDEN, INTER>>,
    &mut PerRank<Tensor<bf16, HIDDEN>>,
);

/// The launch function of a taskflow whose arguments are those of [`Tensors`].
type Launch<const HIDDEN: usize, const INTER: usize, const TOP_K: usize> = fn(
    &Group,
    &Route,
    &PerRank<Tensor<bf16, HIDDEN>>,
    &PerRank<Tensor<f32, TOP_K>>,
    &PerRank<Experts<bf16, INTER, HIDDEN>>,
    &PerRank<Experts<bf16, INTER, HIDDEN>>,
    &PerRank<Experts<bf16, HIDDEN, INTER>>,
    &mut PerRank<Tensor<bf16, HIDDEN>>,
) -> Result<Report, LaunchError>;

/// The router's weights as a tensor of (token, k) slots, which kernels need that send these weights.
pub fn by_slot<const TOP_K: usize>(
    ep: Ranks,
    route: &Route,
    weights: &PerRank<Tensor<f32, TOP_K>>,
) -> PerRank<Slots<f32, 1>> {
    let mut slots = PerRank::slots(ep, route);
    for rank in ep.here() {
        slots[rank].copy_from(&weights[rank].to_vec());
    }
    slots
}

/// Gate and up matrices joined in one tensor: for each expert, the rows of gate, then the rows of up.
pub fn gate_and_up<const N: usize, const TWICE: usize, const K: usize>(
    ep: Ranks,
    gate: &PerRank<Experts<bf16, N, K>>,
    up: &PerRank<Experts<bf16, N, K>>,
) -> PerRank<Experts<bf16, TWICE, K>> {
    PerRank::from_fn(ep, |rank| {
        let (gate, up) = (gate[rank].to_vec(), up[rank].to_vec());
        let experts = gate.chunks(N * K).zip(up.chunks(N * K));
        Experts::from_vec(experts.flat_map(|(gate, up)| [gate, up].concat()).collect())
    })
}

/// The numbers of the ranks in this process, lowest rank first.
pub fn numbers<const C: usize>(tensors: &PerRank<Tensor<bf16, C>>) -> Vec<f32> {
    tensors.iter().flat_map(Tensor::to_f32).collect()
}
