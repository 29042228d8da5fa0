/// Like `swiglu_grad`, with an activation `h` that was saved.
#[aiv_task]
pub fn swiglu_grad_of<const N: usize, const M: usize>(
    dh: &Tile<bf16, M, N>,
    gate: &Tile<bf16, M, N>,
    up: &Tile<bf16, M, N>,
    h: &Tile<bf16, M, N>,
    weights: &Tile<f32, M, 1>,
    dgate: &mut Tile<bf16, M, N>,
    dup: &mut Tile<bf16, M, N>,
    weighted: &mut Tile<bf16, M, N>,
    part: &mut Tile<f32, M, 1>,
) {
    let gate = gate.load();
    let up = up.load();
    let h = h.load();
    let dh = dh.load();
    let weight = weights.load();
    let sigmoid = gate.sigmoid();
    let silu = &gate * &sigmoid;
    part.store((&dh * &h).row_sum());
    weighted.store(h * &weight);
    let dh = dh * &weight;
    dup.store(&dh * &silu);
    dgate.store(dh * up * silu_slope(&sigmoid, &silu));
}
