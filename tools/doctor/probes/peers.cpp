// Writes to the memory of peers. A vector core writes to one peer, and checks the data that the core with the same
// number on another rank writes to this rank.
namespace probe {

// Distance from this rank to the peer that a core writes to.
HPMOE_INLINE uint32_t Distance(const VectorCore &core) { return 1 + core.number % (core.launch.ranks - 1); }
HPMOE_INLINE uint32_t Target(const VectorCore &core) { return (core.launch.rank + Distance(core)) % core.launch.ranks; }
HPMOE_INLINE uint32_t Source(const VectorCore &core) {
    return (core.launch.rank + core.launch.ranks - Distance(core)) % core.launch.ranks;
}
HPMOE_INLINE uint64_t BlockAt(const VectorCore &core, const Request &request, uint32_t rank) {
    return core.Heap(rank) + request.data + static_cast<uint64_t>(core.number) * MOST_WORDS * 4;
}

// Each rank writes a block to each peer; the host checks the blocks.
HPMOE_INLINE bool Reach(VectorCore &core, const Request &request, Observation &observation) {
    for (uint32_t peer = core.number; peer < core.launch.ranks; peer += core.launch.aiv) {
        if (peer != core.launch.rank) {
            const uint64_t block = static_cast<uint64_t>(core.launch.rank) * request.words * 4;
            Send(core.Heap(peer) + request.data + block, request.words, static_cast<int32_t>(1 + core.launch.rank));
        }
    }
    PipeBarrier<PIPE_ALL>();
    observation.rounds = request.rounds;
    return true;
}

// A core writes data, waits by a barrier of all pipes, and signals; then the peer must read the new data.
HPMOE_INLINE bool Landed(VectorCore &core, const Request &request, Observation &observation) {
    const uint32_t target = Target(core);
    const uint32_t source = Source(core);
    const uint32_t seen = core.launch.aiv + core.number;
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        const uint32_t round = observation.rounds;
        if (!core.Await(0, seen, round)) {
            return false;
        }
        Send(BlockAt(core, request, target), request.words, static_cast<int32_t>(1 + round));
        core.FencePeer();
        core.SignalPeer(target, 0, core.number, 1);
        if (!core.Await(0, core.number, round + 1)) {
            return false;
        }
        Look(observation, BlockAt(core, request, core.launch.rank), request.words, static_cast<int32_t>(1 + round));
        core.SignalPeer(source, 0, seen, 1);
    }
    return true;
}

// One of many launches without a barrier between them: a block may be written to a peer once the peer's ready word
// allows it.
HPMOE_INLINE bool Ready(VectorCore &core, const Request &request, Observation &observation) {
    const uint32_t target = Target(core);
    if (!core.AwaitReady(target)) {
        return false;
    }
    Send(BlockAt(core, request, target), request.words, core.launch_number);
    core.FencePeer();
    core.SignalPeer(target, 0, core.number, 1);
    if (!core.Await(0, core.number, 1)) {
        return false;
    }
    Look(observation, BlockAt(core, request, core.launch.rank), request.words, core.launch_number);
    observation.rounds = request.rounds;
    return true;
}

} // namespace probe
