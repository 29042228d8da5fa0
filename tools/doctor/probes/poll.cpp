// Signals go from core to core, over all matrix and vector cores. Each core polls a word until the previous core has
// written it by DMA.
namespace probe {

template <class AnyCore> HPMOE_INLINE bool Poll(AnyCore &core, const Request &request, Observation &observation) {
    const uint32_t cores = core.launch.aic + core.launch.aiv;
    const uint64_t words = core.Heap(core.launch.rank) + request.data;
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        const uint32_t at = observation.rounds * cores + core.slot;
        if (at > 0 && !core.Await(words + static_cast<uint64_t>(at) * HPMOE_LINE, 0, at, 1)) {
            return false;
        }
        if (at + 1 < request.rounds * cores) {
            Mark(core, words + static_cast<uint64_t>(at + 1) * HPMOE_LINE);
        }
    }
    return true;
}

} // namespace probe
