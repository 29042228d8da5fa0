/// Puts the router's weight of each (token, k) to the owner of its expert.
#[comm_put]
pub fn send_weights<const R: usize>(weights: &Tile<f32, R, 1>, rows: &mut Tile<f32, R, 1>) {
    rows.put(weights);
}
