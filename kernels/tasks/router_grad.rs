/// The gradient of the router's weight of each (token, k): the sum of its parts, one in each column.
#[aiv_task]
pub fn router_grad<const SLOTS: usize, const PARTS: usize>(
    parts: &Tile<f32, SLOTS, PARTS>,
    dweights: &mut Tile<f32, SLOTS, 1>,
) {
    dweights.store(parts.load().row_sum());
}
