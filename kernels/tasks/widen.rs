/// Converts i8 weights to bf16, for products with bf16 rows. bf16 represents every i8 exactly.
#[aiv_task]
pub fn widen<const N: usize, const K: usize>(narrow: &Tile<i8, N, K>, wide: &mut Tile<bf16, N, K>) {
    wide.store(narrow.load());
}
