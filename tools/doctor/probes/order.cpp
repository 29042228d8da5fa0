// A core writes data, waits by its pipe's barrier, and signals. A core that has waited for the signal must read the new
// data. Vector cores send to vector cores, and each matrix core sends a product to a vector core.
namespace probe {

constexpr uint32_t TILE = 128; // rows and columns of a product
constexpr uint32_t DEPTH = 64;
constexpr int32_t PRODUCT = 0x42800000; // 64 as a float: the sum of DEPTH ones
static_assert(TILE * TILE == MOST_WORDS, "a product is as large as a block");

// Counters, one of each kind per core: a block is complete, a block was checked, a product is complete, a product was checked.
HPMOE_INLINE uint32_t BlockSeen(const Core &core, uint32_t number) { return core.launch.aiv + number; }
HPMOE_INLINE uint32_t ProductMade(const Core &core, uint32_t number) { return 2 * core.launch.aiv + number; }
HPMOE_INLINE uint32_t ProductSeen(const Core &core, uint32_t number) {
    return 2 * core.launch.aiv + core.launch.aic + number;
}

HPMOE_INLINE uint64_t BlockOf(const Core &core, const Request &request, uint32_t number) {
    return core.Heap(core.launch.rank) + request.data + static_cast<uint64_t>(number) * MOST_WORDS * 4;
}
HPMOE_INLINE uint64_t ProductOf(const Core &core, const Request &request, uint32_t number) {
    return BlockOf(core, request, core.launch.aiv + number);
}

// Checks the product of a matrix core, and sets it to zero.
HPMOE_INLINE bool TakeProduct(VectorCore &core, const Request &request, Observation &observation, uint32_t maker) {
    if (!core.Await(0, ProductMade(core, maker), observation.rounds + 1)) {
        return false;
    }
    const uint64_t product = ProductOf(core, request, maker);
    Look(observation, product, MOST_WORDS, PRODUCT);
    Send(product, MOST_WORDS, 0);
    PipeBarrier<PIPE_ALL>();
    core.Signal(0, ProductSeen(core, maker), 1);
    return true;
}

HPMOE_INLINE bool DataOrder(VectorCore &core, const Request &request, Observation &observation) {
    const uint32_t aiv = core.launch.aiv;
    const uint32_t before = (core.number + aiv - 1) % aiv;
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        const uint32_t round = observation.rounds;
        if (!core.Await(0, BlockSeen(core, core.number), round)) {
            return false;
        }
        Send(BlockOf(core, request, core.number), request.words, static_cast<int32_t>(1 + round));
        core.Fence();
        core.Signal(0, core.number, 1);
        if (!core.Await(0, before, round + 1)) {
            return false;
        }
        Look(observation, BlockOf(core, request, before), request.words, static_cast<int32_t>(1 + round));
        core.Signal(0, BlockSeen(core, before), 1);
        if (core.number % 2 == 0 && !TakeProduct(core, request, observation, core.number / 2)) {
            return false;
        }
    }
    return true;
}

HPMOE_INLINE bool DataOrder(CubeCore &core, const Request &request, Observation &observation) {
    const uint64_t heap = core.Heap(core.launch.rank);
    using Operand = Term<Contracted::Columns, Contracted::Columns>;
    const Operand ones = {View<bfloat16_t>{heap + request.left, TILE, DEPTH, DEPTH},
                          View<bfloat16_t>{heap + request.right, TILE, DEPTH, DEPTH}};
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        if (!core.Await(0, ProductSeen(core, core.number), observation.rounds)) {
            return false;
        }
        const View<float> product = {ProductOf(core, request, core.number), TILE, TILE, TILE};
        Matmul(core, product, MatmulPlan{TILE, DEPTH, DEPTH}, ones);
        core.Fence();
        core.Signal(0, ProductMade(core, core.number));
    }
    return true;
}

} // namespace probe
