/// Sends the router's weight of each (token, k) to the rank of its expert, at most `PUT` rows at a time.
#[taskflow]
fn send_slot_weights<const PUT: usize>(
    ep: Ranks,
    route: &Route,
    weights: &PerRank<Slots<f32, 1>>,
    rows: &mut PerRank<Received<f32, 1>>,
) {
    for src in ep {
        for e in route.experts() {
            for s in route.sends::<PUT>(src, e) {
                send_weights(&weights[src].gather(&s), &mut rows[e.owner()].rows_of(&s));
            }
        }
    }
}
