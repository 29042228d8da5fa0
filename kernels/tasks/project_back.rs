/// One tile of `dy · w`, rounded to bf16: the gradient of the input of a projection `x · wᵀ`.
#[aic_task]
pub fn project_back<const N: usize, const M: usize, const K: usize>(
    dy: &Tile<bf16, M, K>,
    w: &Tile<bf16, K, N>,
    dx: &mut Tile<bf16, M, N>,
) {
    dx.store(dy.matmul(w));
}
