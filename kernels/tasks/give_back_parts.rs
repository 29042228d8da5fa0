/// Puts the partial sums of each row, one in each column, back to the slot of their (token, k).
#[comm_put]
pub fn give_back_parts<const R: usize, const C: usize>(parts: &Tile<f32, R, C>, slots: &mut Tile<f32, R, C>) {
    slots.put(parts);
}
