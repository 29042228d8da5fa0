/// Adds the gradient of the matrix of each expert, `dyᵀ · x` over all of its rows in a chunk, to `dw`, in tiles of `GRAD_M` rows and `GRAD_N` columns.
/// The caller sets `dw` before the launch.
#[taskflow]
fn weight_gradients_onto<const GRAD_M: usize, const GRAD_N: usize, const M: usize, const N: usize>(
    ep: Ranks,
    route: &Route,
    dy: &PerRank<Received<bf16, M>>,
    x: &PerRank<Received<bf16, N>>,
    dw: &mut PerRank<Experts<f32, M, N>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in 0..M.div_ceil(GRAD_M) {
                for n in 0..N.div_ceil(GRAD_N) {
                    weight_grad_onto::<GRAD_M, GRAD_N>(
                        &dy[r].expert(e).cols(m),
                        &x[r].expert(e).cols(n),
                        &mut dw[r].expert(e).tile(m).cols(n),
                    );
                }
            }
        }
    }
}
