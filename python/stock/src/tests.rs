//! Launches give the bits of the reference, on every number of ranks.

use hpmoe_runtime::prelude::*;

/// An element of a matrix.
trait Number: Element {
    fn of(number: f32) -> Self;
}

impl Number for bf16 {
    fn of(number: f32) -> Self {
        Self::from_f32(number)
    }
}

impl Number for f32 {
    fn of(number: f32) -> Self {
        number
    }
}

/// Numbers between -1 and 1 that depend on the seed.
fn numbers<T: Number>(count: usize, seed: usize) -> Vec<T> {
    let mut state = 2 * seed as u32 + 1;
    let next = |_| {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        T::of((state >> 8) as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..count).map(next).collect()
}

/// Number of tokens of a rank; one rank has none.
fn tokens(rank: Rank) -> usize {
    [7, 9, 0, 4][rank.id()]
}

/// Expert ids that differ from token to token; the last expert gets no token.
fn ids<const K: usize>(rank: Rank, experts: usize) -> Tensor<i32, K> {
    let chosen = |slot: usize| ((slot / K * 3 + slot % K * 2 + rank.id()) % (experts - 1)) as i32;
    Tensor::from_vec((0..tokens(rank) * K).map(chosen).collect())
}

/// Generates a test of a module's kernel from the names of its matrices and of their gradients, both in the taskflow's order.
macro_rules! is_its_reference {
    ($test:ident, $kernel:path,
     [$($matrix:ident: $element:ident, $rows:ident, $columns:ident);*], [$($gradient:ident: $height:ident, $width:ident);*]) => {
        #[test]
        fn $test() {
            use $kernel as kernel;
            use kernel::*;
            for ranks in [1, 2, 4] {
                let group = Group::new(ranks).seed(ranks as u64);
                let (ep, own) = (group.ranks(), EXPERTS / ranks);
                let ids = PerRank::from_fn(ep, |rank| ids::<TOP_K>(rank, EXPERTS));
                let route = Route::new(ep, EXPERTS, &ids).expect("a route");
                let rows = |seed| PerRank::from_fn(ep, |rank| Tensor::<bf16, HIDDEN>::from_vec(numbers(tokens(rank) * HIDDEN, seed + rank.id())));
                let (x, dy) = (rows(10), rows(20));
                let weights = PerRank::from_fn(ep, |rank| Tensor::<f32, TOP_K>::from_vec(numbers(tokens(rank) * TOP_K, 30 + rank.id())));
                $(let $matrix = PerRank::from_fn(ep, |rank| {
                    Experts::<$element, { $rows }, { $columns }>::from_vec(numbers(own * $rows * $columns, $rows + 7 * $columns + rank.id()))
                });)*
                let zeros = || PerRank::from_fn(ep, |rank| Tensor::<bf16, HIDDEN>::zeros(tokens(rank)));

                let (mut y, mut want) = (zeros(), zeros());
                forward::launch(&group, &route, &x, &weights, $(&$matrix,)* &mut y).expect("a launch");
                forward(ep, &route, &x, &weights, $(&$matrix,)* &mut want);
                assert!(y == want && y.iter().any(|y| y.to_f32().iter().any(|y| *y != 0.0)), "forward, {ranks} ranks");

                let mut slots = PerRank::slots::<f32, 1>(ep, &route);
                for rank in ep {
                    slots[rank].copy_from(&weights[rank].to_vec());
                }
                let gradients = || (zeros(), PerRank::slots::<f32, 1>(ep, &route));
                let ((mut dx, mut dweights), (mut want_dx, mut want_dweights)) = (gradients(), gradients());
                $(let mut $gradient = {
                    let zeros = || PerRank::from_fn(ep, |_| Experts::<f32, { $height }, { $width }>::zeros(own));
                    (zeros(), zeros())
                };)*
                backward::launch(&group, &route, &x, &dy, &slots, $(&$matrix,)* &mut dx, &mut dweights, $(&mut $gradient.0,)*)
                    .expect("a launch");
                backward(ep, &route, &x, &dy, &slots, $(&$matrix,)* &mut want_dx, &mut want_dweights, $(&mut $gradient.1,)*);
                assert!(dx == want_dx && dweights == want_dweights, "backward, {ranks} ranks");
                $(assert!($gradient.0 == $gradient.1, "backward, {ranks} ranks: {}", stringify!($gradient));)*
            }
        }
    };
}

#[cfg(swiglu)]
is_its_reference!(
    separate,
    crate::separate::swiglu,
    [gate: bf16, INTER, HIDDEN; up: bf16, INTER, HIDDEN; down: bf16, HIDDEN, INTER],
    [dgate: INTER, HIDDEN; dup: INTER, HIDDEN; ddown: HIDDEN, INTER]
);

#[cfg(swiglu)]
is_its_reference!(
    joined,
    crate::joined::swiglu_joined,
    [gate_up: bf16, GATE_UP, HIDDEN; down: bf16, HIDDEN, INTER],
    [dgate_up: GATE_UP, HIDDEN; ddown: HIDDEN, INTER]
);

/// Rows of a bias.
#[cfg(gpt_oss)]
const ONE: usize = 1;

#[cfg(gpt_oss)]
is_its_reference!(
    biased,
    crate::biased::gpt_oss,
    [gate_up: bf16, HIDDEN, GATE_UP; gate_up_bias: f32, ONE, GATE_UP; down: bf16, INTER, HIDDEN; down_bias: f32, ONE, HIDDEN],
    [dgate_up: HIDDEN, GATE_UP; dgate_up_bias: ONE, GATE_UP; ddown: INTER, HIDDEN; ddown_bias: ONE, HIDDEN]
);
