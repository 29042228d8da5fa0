/// The derivative of `silu`, from the sigmoid of its operand and its result.
fn silu_slope<const M: usize, const N: usize>(sigmoid: &Value<M, N>, silu: &Value<M, N>) -> Value<M, N> {
    sigmoid + silu * (1.0 - sigmoid)
}
