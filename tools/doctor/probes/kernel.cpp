// The kernel: each core runs the requested probe.
namespace probe {

HPMOE_INLINE bool Run(VectorCore &core, const Request &request, Observation &observation) {
    switch (request.which) {
    case POLL: return Poll(core, request, observation);
    case ADDS: return Adds(core, request, observation);
    case DATA_ORDER: return DataOrder(core, request, observation);
    case REACH: return Reach(core, request, observation);
    case PEER_ADDS: return PeerAdds(core, request, observation);
    case LANDED: return Landed(core, request, observation);
    case READY: return Ready(core, request, observation);
    case TIME: return Time(core, request, observation);
    // No core ever signals this counter.
    case STUCK: return core.Await(0, 0, 1);
    default: return true;
    }
}

HPMOE_INLINE bool Run(CubeCore &core, const Request &request, Observation &observation) {
    switch (request.which) {
    case POLL: return Poll(core, request, observation);
    case ADDS: return Adds(core, request, observation);
    case DATA_ORDER: return DataOrder(core, request, observation);
    case SUMS: return Sums(core, request, observation);
    case RELU: return Relu(core, request, observation);
    case ROWS: return Rows(core, request, observation);
    case FLAGS: return Flags(core, request, observation);
    case TIME: return Time(core, request, observation);
    case STUCK: return core.Await(0, 0, 1);
    default: return true;
    }
}

template <class AnyCore> HPMOE_INLINE void Examine(GM_ADDR argument, bool matrix) {
    const uint64_t address = reinterpret_cast<uint64_t>(argument);
    DataCacheCleanAndInvalid<uint64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(Global<uint64_t>(address));
    const Request request = Load<Request>(address + sizeof(HpmoeLaunch));
    Observation observation = {};
    observation.mark = request.mark;
    observation.matrix = matrix ? 1 : 0;
    observation.index = static_cast<uint32_t>(GetBlockIdx());
    observation.blocks = static_cast<uint32_t>(GetBlockNum());
    observation.ratio = matrix ? 0 : static_cast<uint32_t>(GetTaskRatio());
    if (request.which == CORES) {
        // This probe makes no assumption, not even that each core has its own line.
        const uint32_t slot = matrix ? observation.index : observation.blocks + observation.index;
        if (slot < request.words) {
            Tell(request, slot, observation);
        }
        return;
    }
    AnyCore core;
    if (!core.Start(argument)) {
        return;
    }
    Prepare(core);
    if (Run(core, request, observation)) {
        core.record.state = HPMOE_DONE;
    }
    Tell(request, core.slot, observation);
    core.Leave();
}

} // namespace probe

extern "C" __global__ __mix__(1, 2) void hpmoe_doctor(GM_ADDR launch) {
    if ASCEND_IS_AIC {
        probe::Examine<hpmoe::CubeCore>(launch, true);
    }
    if ASCEND_IS_AIV {
        probe::Examine<hpmoe::VectorCore>(launch, false);
    }
}
