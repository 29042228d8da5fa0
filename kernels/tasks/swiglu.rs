/// The gated activation: `silu(gate) · up`.
#[aiv_task]
pub fn swiglu<const N: usize, const M: usize>(
    gate: &Tile<bf16, M, N>,
    up: &Tile<bf16, M, N>,
    h: &mut Tile<bf16, M, N>,
) {
    let gate = gate.load();
    h.store(gate.silu() * up.load());
}
