/// One tile of a weight gradient, `dyᵀ · x`, added to what the tile holds. An expert without rows adds nothing.
#[aic_task]
pub fn weight_grad_onto<const M: usize, const N: usize>(
    dy: &Tile<bf16, RAGGED, M>,
    x: &Tile<bf16, RAGGED, N>,
    dw: &mut Tile<f32, M, N>,
) {
    dw.accumulate(dy.t_matmul(x));
}
