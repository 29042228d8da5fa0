/// Sums the slots of each of B tokens, in the order of k. `SLOTS` is B times the experts of a token.
#[aiv_task]
pub fn sum_over_k<const SLOTS: usize, const C: usize, const B: usize>(
    slots: &Tile<bf16, SLOTS, C>,
    y: &mut Tile<bf16, B, C>,
) {
    y.store(slots.load().fold_rows::<B>());
}
