/// Converts 4-bit weights to bf16: each is multiplied by the scale of its group of columns and rounded once.
#[aiv_task]
pub fn unpack_to_bf16<const N: usize, const PAIRS: usize, const GROUPS: usize, const K: usize>(
    packed: &Tile<i4x2, N, PAIRS>,
    scales: &Tile<f32, N, GROUPS>,
    wide: &mut Tile<bf16, N, K>,
) {
    wide.store(packed.unpack::<K>() * scales.load().repeat_columns::<K>());
}
