/// Adds a bias, which is one row, to all rows.
#[aiv_task]
pub fn shift<const C: usize, const R: usize>(
    rows: &Tile<bf16, R, C>,
    bias: &Tile<f32, 1, C>,
    shifted: &mut Tile<bf16, R, C>,
) {
    shifted.store(rows.load() + bias.load());
}
