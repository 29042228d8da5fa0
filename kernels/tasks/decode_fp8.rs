/// Decodes weights of 8-bit codes with a scale for each group of columns, such as fp8 (E4M3 or E5M2), to bf16: the table's number for the
/// code, times the scale, rounded once.
#[aiv_task]
pub fn decode_fp8<const N: usize, const GROUPS: usize, const K: usize>(
    codes: &Tile<i8, N, K>,
    scales: &Tile<f32, N, GROUPS>,
    numbers: &Tile<f32, 1, 256>,
    wide: &mut Tile<bf16, N, K>,
) {
    wide.store(codes.look_up::<K, _>(&numbers.load()) * scales.load().repeat_columns::<K>());
}
