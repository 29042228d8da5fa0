/// One tile of `x · wᵀ`, rounded to bf16.
#[aic_task]
pub fn project<const N: usize, const M: usize, const K: usize>(
    x: &Tile<bf16, M, K>,
    w: &Tile<bf16, N, K>,
    y: &mut Tile<bf16, M, N>,
) {
    y.store(x.matmul_t(w));
}
