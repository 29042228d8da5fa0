/// One tile of a weight gradient, `dyᵀ · x`, in f32: the sum runs over all rows of the expert, and is zero for an expert without rows.
#[aic_task]
pub fn weight_grad<const M: usize, const N: usize>(
    dy: &Tile<bf16, RAGGED, M>,
    x: &Tile<bf16, RAGGED, N>,
    dw: &mut Tile<f32, M, N>,
) {
    dw.store(dy.t_matmul(x));
}
