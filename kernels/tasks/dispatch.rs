/// Puts rows of tokens to the owner of their expert.
#[comm_put]
pub fn dispatch<const R: usize, const C: usize>(tokens: &Tile<bf16, R, C>, rows: &mut Tile<bf16, R, C>) {
    rows.put(tokens);
}
