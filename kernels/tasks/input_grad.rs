/// One tile of the gradient of the received rows, through both projections: `dgate · gate + dup · up` in one sum, rounded
/// once to bf16.
#[aic_task]
pub fn input_grad<const N: usize, const M: usize, const K: usize>(
    dgate: &Tile<bf16, M, K>,
    gate: &Tile<bf16, K, N>,
    dup: &Tile<bf16, M, K>,
    up: &Tile<bf16, K, N>,
    dx: &mut Tile<bf16, M, N>,
) {
    dx.store(dgate.matmul(gate).add_matmul(dup, up));
}
