/// Multiplies each column by its own scale, as products with i8 weights need.
#[aiv_task]
pub fn scale_by_column<const C: usize, const R: usize>(
    rows: &Tile<bf16, R, C>,
    scales: &Tile<f32, 1, C>,
    scaled: &mut Tile<bf16, R, C>,
) {
    scaled.store(rows.load() * scales.load());
}
