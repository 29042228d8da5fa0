/// The gated activation of the rows of each expert, `silu(gate) · up`, in tiles of `TILE_M` rows and `TILE_N` columns.
#[taskflow]
fn swiglu_rows<const TILE_M: usize, const TILE_N: usize, const N: usize>(
    ep: Ranks,
    route: &Route,
    gate: &PerRank<Received<bf16, N>>,
    up: &PerRank<Received<bf16, N>>,
    h: &mut PerRank<Received<bf16, N>>,
) {
    for r in ep {
        for e in route.experts_of(r) {
            for m in route.row_tiles::<TILE_M>(e) {
                for n in 0..N.div_ceil(TILE_N) {
                    swiglu::<TILE_N, _>(
                        &gate[r].group(e, m).cols(n),
                        &up[r].group(e, m).cols(n),
                        &mut h[r].group(e, m).cols(n),
                    );
                }
            }
        }
    }
}
