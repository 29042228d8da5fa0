/// Weights of i8 as bf16, which matrix cores take. Every i8 is exact in bf16.
#[aiv_task]
pub fn widen<const N: usize, const K: usize>(narrow: &Tile<i8, N, K>, wide: &mut Tile<bf16, N, K>) {
    wide.store(narrow.load());
}
