/// Sums the slots of each token, in tiles of `BLOCK` tokens and `COLUMNS` columns. `SLOTS` is `BLOCK` times the experts of a token.
#[taskflow]
fn sum_slots<const BLOCK: usize, const SLOTS: usize, const COLUMNS: usize, const C: usize>(
    ep: Ranks,
    route: &Route,
    slots: &PerRank<Slots<bf16, C>>,
    y: &mut PerRank<Tensor<bf16, C>>,
) {
    for r in ep {
        for t in route.token_blocks::<BLOCK>(r) {
            for n in 0..C.div_ceil(COLUMNS) {
                sum_over_k::<SLOTS, COLUMNS, _>(&slots[r].slots(t).cols(n), &mut y[r].rows(t).cols(n));
            }
        }
    }
}
