/// Puts results back to the slot of their (token, k).
#[comm_put]
pub fn give_back<const R: usize, const C: usize>(results: &Tile<bf16, R, C>, slots: &mut Tile<bf16, R, C>) {
    slots.put(results);
}
