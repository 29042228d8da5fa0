/// Sends each row back to the slot of its (token, k), at most `PUT` rows at a time.
#[taskflow]
fn give_back_rows<const PUT: usize, const C: usize>(
    ep: Ranks,
    route: &Route,
    rows: &PerRank<Received<bf16, C>>,
    slots: &mut PerRank<Slots<bf16, C>>,
) {
    for src in ep {
        for e in route.experts() {
            for s in route.sends::<PUT>(src, e) {
                give_back(&rows[e.owner()].rows_of(&s), &mut slots[src].scatter(&s));
            }
        }
    }
}
