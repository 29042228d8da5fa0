/// Weights of i8 as matrix cores take them; every i8 is a bf16.
#[aiv_task]
pub fn widen<const N: usize, const K: usize>(narrow: &Tile<i8, N, K>, wide: &mut Tile<bf16, N, K>) {
    wide.store(narrow.load());
}
