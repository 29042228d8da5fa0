/// Decodes weights of 4-bit codes with an 8-bit scale code for each group of columns, such as MXFP4 (E2M1 with E8M0), to bf16. Each weight
/// is the product of a code's number and a scale code's power, both from tables, rounded once.
#[aiv_task]
pub fn decode_fp4<const N: usize, const PAIRS: usize, const GROUPS: usize, const K: usize>(
    codes: &Tile<i4x2, N, PAIRS>,
    scales: &Tile<i8, N, GROUPS>,
    numbers: &Tile<f32, 1, 16>,
    powers: &Tile<f32, 1, 256>,
    wide: &mut Tile<bf16, N, K>,
) {
    let scales = scales.look_up::<GROUPS, _>(&powers.load());
    wide.store(codes.look_up::<K, _>(&numbers.load()) * scales.repeat_columns::<K>());
}
