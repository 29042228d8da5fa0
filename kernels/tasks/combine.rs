/// The sum over k with the router's weights, in the order of k: B·K slots of B tokens.
#[aiv_task]
pub fn combine<const SLOTS: usize, const C: usize, const B: usize, const K: usize>(
    slots: &Tile<bf16, SLOTS, C>,
    weights: &Tile<f32, B, K>,
    y: &mut Tile<bf16, B, C>,
) {
    y.store(slots.load().weighted_sum(&weights.load()));
}
