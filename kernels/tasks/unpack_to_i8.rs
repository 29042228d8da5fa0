/// Converts 4-bit weights to i8: each is multiplied by the whole number of its group of columns, at most 16, which gives -128 to 112.
#[aiv_task]
pub fn unpack_to_i8<const N: usize, const PAIRS: usize, const GROUPS: usize, const K: usize>(
    packed: &Tile<i4x2, N, PAIRS>,
    multipliers: &Tile<i8, N, GROUPS>,
    wide: &mut Tile<i8, N, K>,
) {
    wide.store(packed.unpack::<K>() * multipliers.load().repeat_columns::<K>());
}
