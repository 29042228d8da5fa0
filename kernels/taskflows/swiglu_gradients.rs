/// The gradients of the gated activation of the rows of each expert, times the router's weight of each row; the activation times that
/// weight; and a part of the gradient of the weight for each tile of columns. Tiles have `TILE_M` rows and `TILE_N` columns.
#[taskflow]
fn swiglu_gradients<const TILE_M: usize, const TILE_N: usize, const N: usize, const PARTS: usize>(
    ep: Ranks,
    route: &Route,
    dh: &PerRank<Received<bf16, N>>,
    gate: &PerRank<Received<bf16, N>>,
    up: &PerRank<Received<bf16, N>>,
    weights: &PerRank<Received<f32, 1>>,
    dgate: &mut PerRank<Received<bf16, N>>,
    dup: &mut PerRank<Received<bf16, N>>,
    weighted: &mut PerRank<Received<bf16, N>>,
    parts: &mut PerRank<Received<f32, PARTS>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in route.row_tiles::<TILE_M>(e) {
                for n in 0..N.div_ceil(TILE_N) {
                    swiglu_grad::<TILE_N, _>(
                        &dh[r].group(e, m).cols(n),
                        &gate[r].group(e, m).cols(n),
                        &up[r].group(e, m).cols(n),
                        &weights[r].group(e, m),
                        &mut dgate[r].group(e, m).cols(n),
                        &mut dup[r].group(e, m).cols(n),
                        &mut weighted[r].group(e, m).cols(n),
                        &mut parts[r].group(e, m).cols(n),
                    );
                }
            }
        }
    }
}
