/// Sums the K slots of each of B tokens with the router's weights, in the order of k. `SLOTS` is B · K.
#[aiv_task]
pub fn combine<const SLOTS: usize, const C: usize, const B: usize, const K: usize>(
    slots: &Tile<bf16, SLOTS, C>,
    weights: &Tile<f32, B, K>,
    y: &mut Tile<bf16, B, C>,
) {
    y.store(slots.load().weighted_sum(&weights.load()));
}
