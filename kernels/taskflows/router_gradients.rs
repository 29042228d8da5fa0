/// The gradient of the router's weight of each (token, k): the parts of each row go back to its slot, at most `PUT` rows at a time, and
/// are summed in tiles of `BLOCK` tokens. `SLOTS` is `BLOCK` times the experts of a token.
#[taskflow]
fn router_gradients<const PUT: usize, const BLOCK: usize, const SLOTS: usize, const PARTS: usize>(
    ep: Ranks,
    route: &Route,
    parts: &PerRank<Received<f32, PARTS>>,
    dweights: &mut PerRank<Slots<f32, 1>>,
) {
    let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
    for src in ep {
        for e in route.experts() {
            for s in route.sends::<PUT>(src, e) {
                give_back_parts(&parts[e.owner()].rows_of(&s), &mut parts_back[src].scatter(&s));
            }
        }
    }
    for r in ep {
        for t in route.token_blocks::<BLOCK>(r) {
            router_grad::<SLOTS, _>(&parts_back[r].slots(t), &mut dweights[r].slots(t));
        }
    }
}
