// All cores add to the same words, on their own rank or on all other ranks. The host compares the sums.
namespace probe {

constexpr uint32_t SUMMED = 8; // words

HPMOE_INLINE uint32_t Amount(const VectorCore &core) { return 1 + core.number % 3; }

HPMOE_INLINE bool Adds(VectorCore &core, const Request &request, Observation &observation) {
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        for (uint32_t word = 0; word < SUMMED; ++word) {
            core.Signal(0, word, Amount(core));
        }
    }
    return true;
}

HPMOE_INLINE bool Adds(CubeCore &core, const Request &request, Observation &observation) {
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        for (uint32_t word = 0; word < SUMMED; ++word) {
            core.Signal(0, word);
        }
    }
    return true;
}

HPMOE_INLINE bool PeerAdds(VectorCore &core, const Request &request, Observation &observation) {
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        for (uint32_t peer = 0; peer < core.launch.ranks; ++peer) {
            for (uint32_t word = 0; peer != core.launch.rank && word < SUMMED; ++word) {
                core.SignalPeer(peer, 0, word, Amount(core));
            }
        }
    }
    return true;
}

} // namespace probe
