/// Multiplies the rows of each expert by its matrix, `x · wᵀ`, in tiles of `TILE_M` rows and `TILE_N` columns.
#[taskflow]
fn project_rows<const TILE_M: usize, const TILE_N: usize, const K: usize, const N: usize>(
    ep: Ranks,
    route: &Route,
    x: &PerRank<Received<bf16, K>>,
    w: &PerRank<Experts<bf16, N, K>>,
    y: &mut PerRank<Received<bf16, N>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in route.row_tiles::<TILE_M>(e) {
                for n in 0..N.div_ceil(TILE_N) {
                    project::<TILE_N, _, _>(
                        &x[r].group(e, m),
                        &w[r].expert(e).tile(n),
                        &mut y[r].group(e, m).cols(n),
                    );
                }
            }
        }
    }
}
