/// Rows, each times a number of its own: the router's weights.
#[aiv_task]
pub fn scale_by_row<const C: usize, const R: usize>(
    rows: &Tile<bf16, R, C>,
    weights: &Tile<f32, R, 1>,
    scaled: &mut Tile<bf16, R, C>,
) {
    scaled.store(rows.load().scale_rows(&weights.load()));
}
