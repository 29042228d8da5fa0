/// Weights of four bits as i8: each times the whole number of its group of columns. The largest of these is 16: 7 · 16 and -8 · 16 are i8.
#[aiv_task]
pub fn unpack_to_i8<const N: usize, const PAIRS: usize, const GROUPS: usize, const K: usize>(
    packed: &Tile<i4x2, N, PAIRS>,
    multipliers: &Tile<i8, N, GROUPS>,
    wide: &mut Tile<i8, N, K>,
) {
    wide.store(packed.unpack::<K>() * multipliers.load().repeat_columns::<K>());
}
