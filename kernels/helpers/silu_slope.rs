/// The derivative of `silu` where its sigmoid and its result are these.
fn silu_slope<const M: usize, const N: usize>(sigmoid: &Value<M, N>, silu: &Value<M, N>) -> Value<M, N> {
    sigmoid + silu * (1.0 - sigmoid)
}
