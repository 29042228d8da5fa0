/// Multiplies the rows of each expert by its matrix, `dy · w`, in tiles of `TILE_M` rows and `TILE_N` columns: the gradient of the rows
/// that `project_rows` reads.
#[taskflow]
fn project_rows_back<const TILE_M: usize, const TILE_N: usize, const K: usize, const N: usize>(
    ep: Ranks,
    route: &Route,
    dy: &PerRank<Received<bf16, K>>,
    w: &PerRank<Experts<bf16, K, N>>,
    dx: &mut PerRank<Received<bf16, N>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in route.row_tiles::<TILE_M>(e) {
                for n in 0..N.div_ceil(TILE_N) {
                    project_back::<TILE_N, _, _>(
                        &dy[r].group(e, m),
                        &w[r].expert(e).cols(n),
                        &mut dx[r].group(e, m).cols(n),
                    );
                }
            }
        }
    }
}
