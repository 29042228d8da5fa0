// Products of few rows, each followed immediately by another product in the same L0C; the host compares them.
namespace probe {

constexpr uint32_t PAIRS = 4;

// Rows of the first product of a pair: 1, 7, 8 or 9. Unit flags and Fixpipe work on blocks of 512 B, which hold eight
// rows.
HPMOE_INLINE uint32_t FewRows(uint32_t pair) { return pair == 0 ? 1 : 6 + pair; }

HPMOE_INLINE bool Rows(CubeCore &core, const Request &request, Observation &observation) {
    if (core.number > 0) {
        return true;
    }
    const uint64_t heap = core.Heap(core.launch.rank);
    const View<bfloat16_t> right = {heap + request.right, SIDE, SHORTEST, SHORTEST};
    for (; observation.rounds < PAIRS; ++observation.rounds) {
        const uint64_t pair = heap + request.data + observation.rounds * 2 * SIDE * SIDE * 4;
        const uint32_t few = FewRows(observation.rounds);
        const Term<Contracted::Columns, Contracted::Columns> first = {
            View<bfloat16_t>{heap + request.left, few, SHORTEST, SHORTEST}, right};
        const Term<Contracted::Columns, Contracted::Columns> second = {
            View<bfloat16_t>{heap + request.left, SIDE, SHORTEST, SHORTEST}, right};
        Matmul(core, View<float>{pair, few, SIDE, SIDE}, MatmulPlan{SIDE, SHORTEST, SHORTEST}, first);
        Matmul(core, View<float>{pair + SIDE * SIDE * 4, SIDE, SIDE, SIDE}, MatmulPlan{SIDE, SHORTEST, SHORTEST},
               second);
    }
    return true;
}

} // namespace probe
