/// The gradient of the rows of each expert through both projections, `dgate · gate + dup · up` in one sum, in tiles of `TILE_M` rows and
/// `TILE_N` columns.
#[taskflow]
fn input_gradients<const TILE_M: usize, const TILE_N: usize, const N: usize, const C: usize>(
    ep: Ranks,
    route: &Route,
    dgate: &PerRank<Received<bf16, N>>,
    gate: &PerRank<Experts<bf16, N, C>>,
    dup: &PerRank<Received<bf16, N>>,
    up: &PerRank<Experts<bf16, N, C>>,
    dx: &mut PerRank<Received<bf16, C>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in route.row_tiles::<TILE_M>(e) {
                for n in 0..C.div_ceil(TILE_N) {
                    input_grad::<TILE_N, _, _>(
                        &dgate[r].group(e, m),
                        &gate[r].expert(e).cols(n),
                        &dup[r].group(e, m),
                        &up[r].expert(e).cols(n),
                        &mut dx[r].group(e, m).cols(n),
                    );
                }
            }
        }
    }
}
