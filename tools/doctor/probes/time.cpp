// Loops that repeat one operation, timed by the core that runs them. From these times, the host computes the constants of a machine.
namespace probe {

// Values of `Request.left`, the same as in `src/request.rs`.
enum Loop : uint64_t {
    COPY = 0,      // bursts from global memory to UB
    ADD = 1,       // sums of blocks in UB
    WAIT = 2,      // reads of a counter that has reached its threshold
    SIGNAL = 3,    // adds to a counter
    TRIP = 4,      // a signal to another core and one back
    STREAM = 5,    // bursts of all cores from memory that is read only once
    PUT = 6,       // bursts to a peer
    PUT_ALL = 7,   // bursts of all cores to a peer
    FENCE = 8,     // lines to a peer, each with a barrier of all pipes
    FAR_TRIP = 9,  // a signal to a peer and one back
    BARRIER = 10,  // a signal to and from each peer
    PRODUCTS = 11, // products of all matrix cores
    COPY_L1 = 12,  // bursts of a matrix core, of the same memory
    STREAM_L1 = 13 // bursts of a matrix core from memory that is read only once
};

constexpr uint32_t BURST = 4; // copies of one burst, each to a different place
constexpr uint32_t PIECE_WORDS = MOST_WORDS / BURST;

HPMOE_INLINE void BurstIn(uint64_t address) {
    for (uint32_t piece = 0; piece < BURST; ++piece) {
        DataCopy(Block(SEEN)[piece * PIECE_WORDS], Global<int32_t>(address + piece * PIECE_WORDS * 4), PIECE_WORDS);
    }
    PipeBarrier<PIPE_MTE2>();
}

HPMOE_INLINE void BurstOut(uint64_t address) {
    for (uint32_t piece = 0; piece < BURST; ++piece) {
        DataCopy(Global<int32_t>(address + piece * PIECE_WORDS * 4), Block(SENT)[piece * PIECE_WORDS], PIECE_WORDS);
    }
    PipeBarrier<PIPE_MTE3>();
}

// The first core signals first; each core waits for the other core's signal.
HPMOE_INLINE bool Trip(VectorCore &core, const Request &request, Observation &observation, uint32_t own, uint32_t other,
                       uint32_t peer, bool first) {
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        if (first) {
            core.SignalPeer(peer, 0, other, 1);
        }
        if (!core.Await(0, own, observation.rounds + 1)) {
            return false;
        }
        if (!first) {
            core.SignalPeer(peer, 0, other, 1);
        }
    }
    return true;
}

// Each rank signals all others, and waits for a signal from each of them.
HPMOE_INLINE bool Meet(VectorCore &core, const Request &request, Observation &observation) {
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        for (uint32_t peer = 0; peer < core.launch.ranks; ++peer) {
            if (peer != core.launch.rank) {
                core.SignalPeer(peer, 0, 0, 1);
            }
        }
        if (!core.Await(0, 0, (observation.rounds + 1) * (core.launch.ranks - 1))) {
            return false;
        }
    }
    return true;
}

HPMOE_INLINE bool RunLoop(VectorCore &core, const Request &request, Observation &observation) {
    const uint32_t rank = core.launch.rank;
    const uint32_t peer = static_cast<uint32_t>(request.right);
    const uint64_t data = core.Heap(rank) + request.data;
    uint32_t &round = observation.rounds;
    switch (request.left) {
    case BARRIER: return Meet(core, request, observation);
    case TRIP: return Trip(core, request, observation, core.number, 1 - core.number, rank, core.number == 0);
    case FAR_TRIP: return Trip(core, request, observation, 0, 0, rank == 0 ? peer : 0, rank == 0);
    default: break;
    }
    for (; round < request.rounds; ++round) {
        switch (request.left) {
        case COPY: BurstIn(data); break;
        case ADD:
            Add(Block(SEEN), Block(SENT), Block(SENT), static_cast<int32_t>(MOST_WORDS));
            PipeBarrier<PIPE_V>();
            break;
        case WAIT:
            if (!core.Await(0, 0, 0)) {
                return false;
            }
            break;
        case SIGNAL: core.Signal(0, 0, 1); break;
        case STREAM:
            BurstIn(data + (static_cast<uint64_t>(core.number) * request.rounds + round) * MOST_WORDS * 4);
            break;
        case PUT:
        case PUT_ALL: BurstOut(BlockAt(core, request, peer)); break;
        default: Mark(core, BlockAt(core, request, peer)); core.FencePeer();
        }
    }
    return true;
}

HPMOE_INLINE bool Takes(const VectorCore &core, const Request &request) {
    const uint32_t rank = core.launch.rank;
    switch (request.left) {
    case STREAM: return true;
    case BARRIER: return core.number == 0;
    case PRODUCTS:
    case COPY_L1:
    case STREAM_L1: return false;
    case PUT_ALL: return rank == 0;
    case TRIP: return core.number < 2;
    case FAR_TRIP: return core.number == 0 && (rank == 0 || rank == request.right);
    default: return core.number == 0 && rank == 0;
    }
}

HPMOE_INLINE bool Time(VectorCore &core, const Request &request, Observation &observation) {
    if (!Takes(core, request)) {
        return true;
    }
    // A peer's memory may be written once the peer's launch has begun.
    for (uint32_t peer = 0; request.left >= PUT && peer < core.launch.ranks; ++peer) {
        if (!core.AwaitReady(peer)) {
            return false;
        }
    }
    Duplicate(Block(SENT), 1, static_cast<int32_t>(MOST_WORDS));
    PipeBarrier<PIPE_ALL>();
    const int64_t begin = GetSystemCycle();
    const bool ended = RunLoop(core, request, observation);
    PipeBarrier<PIPE_ALL>();
    observation.cycles = static_cast<uint32_t>(GetSystemCycle() - begin);
    return ended;
}

// A tile as large as the original's, with operands in L2. Each product is stored at a different place.
constexpr uint32_t WIDE = 256;

HPMOE_INLINE void MakeProduct(CubeCore &core, const Request &request, uint32_t round) {
    const uint64_t heap = core.Heap(core.launch.rank);
    const uint64_t at = static_cast<uint64_t>(core.number) * request.rounds + round;
    using Operand = Term<Contracted::Columns, Contracted::Columns>;
    const Operand ones = {View<bfloat16_t>{heap + request.right, TILE, request.words, request.words},
                          View<bfloat16_t>{heap + request.right, WIDE, request.words, request.words}};
    const View<float> product = {heap + request.data + at * TILE * WIDE * 4, TILE, WIDE, WIDE};
    Matmul(core, product, MatmulPlan{TILE, 256, 64}, ones);
}

HPMOE_INLINE void BurstToL1(uint64_t address) {
    constexpr uint32_t PIECE = PIECE_WORDS * 4;
    for (uint32_t piece = 0; piece < BURST; ++piece) {
        DataCopy(Local<int32_t>(TPosition::A1, piece * PIECE, PIECE), Global<int32_t>(address + piece * PIECE),
                 PIECE_WORDS);
    }
    PipeBarrier<PIPE_MTE2>();
}

HPMOE_INLINE bool Time(CubeCore &core, const Request &request, Observation &observation) {
    const bool one = request.left == COPY_L1 || request.left == STREAM_L1;
    if (request.left < PRODUCTS || (one && core.number != 0)) {
        return true;
    }
    const uint64_t data = core.Heap(core.launch.rank) + request.data;
    PipeBarrier<PIPE_ALL>();
    const int64_t begin = GetSystemCycle();
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        if (one) {
            const uint64_t block = request.left == STREAM_L1 ? observation.rounds : 0;
            BurstToL1(data + block * MOST_WORDS * 4);
        } else {
            MakeProduct(core, request, observation.rounds);
        }
    }
    PipeBarrier<PIPE_ALL>();
    observation.cycles = static_cast<uint32_t>(GetSystemCycle() - begin);
    return true;
}

} // namespace probe
