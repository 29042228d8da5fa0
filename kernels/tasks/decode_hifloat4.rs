/// Decodes weights of HiFloat4 to bf16, exactly. A unit is 64 columns of S1P2 codes, with one E6M2 scale code, eight bits that each double 8
/// columns, and 16 bits that each double 4 columns. A byte's bits count from the lowest one; the first of two bytes has bits 0 to 7.
/// `places` has 2^-(c mod 8) for each column c from 0 on: the factor that moves the column's bit to the lowest place.
#[aiv_task]
pub fn decode_hifloat4<
    const N: usize,
    const PAIRS: usize,
    const UNITS: usize,
    const BYTES: usize,
    const EIGHTS: usize,
    const FOURS: usize,
    const K: usize,
>(
    codes: &Tile<i4x2, N, PAIRS>,
    scales: &Tile<i8, N, UNITS>,
    eights: &Tile<i8, N, UNITS>,
    fours: &Tile<i8, N, BYTES>,
    numbers: &Tile<f32, 1, 16>,
    powers: &Tile<f32, 1, 256>,
    places: &Tile<f32, 1, FOURS>,
    wide: &mut Tile<bf16, N, K>,
) {
    let places = places.load();
    let moved = (eights.load().repeat_columns::<EIGHTS>() * places.columns::<EIGHTS>(0)).floor();
    let eights = &moved - (&moved * 0.5).floor() * 2.0 + 1.0;
    let moved = (fours.load().repeat_columns::<FOURS>() * places).floor();
    let fours = &moved - (&moved * 0.5).floor() * 2.0 + 1.0;
    let scales = scales.look_up::<UNITS, _>(&powers.load());
    let scales = (scales.repeat_columns::<EIGHTS>() * eights).repeat_columns::<FOURS>() * fours;
    wide.store(codes.look_up::<K, _>(&numbers.load()) * scales.repeat_columns::<K>());
}
