// Products, which the host compares.
namespace probe {

constexpr uint32_t SIDE = 32;     // rows and columns of a product
constexpr uint32_t SHORTEST = 16; // depth of the first product; each further one is four times as deep

HPMOE_INLINE bool Sums(CubeCore &core, const Request &request, Observation &observation) {
    if (core.number > 0) {
        return true;
    }
    const uint64_t heap = core.Heap(core.launch.rank);
    const uint32_t pitch = SHORTEST << 2 * (request.rounds - 1);
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        const uint32_t depth = SHORTEST << 2 * observation.rounds;
        const Term<Contracted::Columns, Contracted::Columns> term = {
            View<bfloat16_t>{heap + request.left, SIDE, depth, pitch},
            View<bfloat16_t>{heap + request.right, SIDE, depth, pitch}};
        const View<float> sums = {heap + request.data + observation.rounds * SIDE * SIDE * 4, SIDE, SIDE, SIDE};
        Matmul(core, sums, MatmulPlan{SIDE, 256, 64}, term);
    }
    return true;
}

// One product, stored twice: unchanged, and with negative sums set to 0 during the store from L0C.
HPMOE_INLINE bool Relu(CubeCore &core, const Request &request, Observation &observation) {
    if (core.number > 0) {
        return true;
    }
    const uint64_t heap = core.Heap(core.launch.rank);
    const Term<Contracted::Columns, Contracted::Columns> term = {
        View<bfloat16_t>{heap + request.left, SIDE, SHORTEST, SHORTEST},
        View<bfloat16_t>{heap + request.right, SIDE, SHORTEST, SHORTEST}};
    for (; observation.rounds < 2; ++observation.rounds) {
        const View<float> sums = {heap + request.data + observation.rounds * SIDE * SIDE * 4, SIDE, SIDE, SIDE};
        Matmul(core, sums, MatmulPlan{SIDE, SHORTEST, SHORTEST, observation.rounds == 1}, term);
    }
    return true;
}

} // namespace probe
