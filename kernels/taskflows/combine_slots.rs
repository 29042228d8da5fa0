/// Sums the slots of each token with the router's weights, in tiles of `BLOCK` tokens and `COLUMNS` columns. `SLOTS` is `BLOCK * K`.
#[taskflow]
fn combine_slots<const BLOCK: usize, const SLOTS: usize, const COLUMNS: usize, const C: usize, const K: usize>(
    ep: Ranks,
    route: &Route,
    slots: &PerRank<Slots<bf16, C>>,
    weights: &PerRank<Tensor<f32, K>>,
    y: &mut PerRank<Tensor<bf16, C>>,
) {
    for r in ep {
        for t in route.token_blocks::<BLOCK>(r) {
            for n in 0..C.div_ceil(COLUMNS) {
                combine::<SLOTS, COLUMNS, _, _>(
                    &slots[r].slots(t).cols(n),
                    &weights[r].rows(t),
                    &mut y[r].rows(t).cols(n),
                );
            }
        }
    }
}
