/// Sends each token to the rank of each of its experts, at most `PUT` rows at a time.
#[taskflow]
fn dispatch_tokens<const PUT: usize, const C: usize>(
    ep: Ranks,
    route: &Route,
    tokens: &PerRank<Tensor<bf16, C>>,
    rows: &mut PerRank<Received<bf16, C>>,
) {
    for src in ep {
        for e in route.experts() {
            for s in route.sends::<PUT>(src, e) {
                dispatch(&tokens[src].gather(&s), &mut rows[e.owner()].rows_of(&s));
            }
        }
    }
}
