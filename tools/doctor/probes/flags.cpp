// Each matrix core has a word. In each round, its scalar unit stores a number there and sets a flag; MTE3 waits for that flag, adds one to the
// word and sets another flag; the scalar unit waits for this flag and reads the word.
namespace probe {

HPMOE_INLINE bool Flags(CubeCore &core, const Request &request, Observation &observation) {
    const uint64_t address =
        core.Heap(core.launch.rank) + request.data + static_cast<uint64_t>(core.number) * HPMOE_LINE;
    const LocalTensor<int32_t> ones = Local<int32_t>(TPosition::A1, L1_ONES, BLOCK_BYTES);
    GlobalTensor<int32_t> word = Global<int32_t>(address);
    for (; observation.rounds < request.rounds; ++observation.rounds) {
        const int32_t stored = static_cast<int32_t>(3 * observation.rounds);
        word.SetValue(0, stored);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
        SetFlag<HardEvent::S_MTE3>(1);
        WaitFlag<HardEvent::S_MTE3>(1);
        SetAtomicAdd<int32_t>();
        DataCopy(word, ones, BLOCK_BYTES / sizeof(int32_t));
        SetAtomicNone();
        SetFlag<HardEvent::MTE3_S>(1);
        WaitFlag<HardEvent::MTE3_S>(1);
        asm volatile("" ::: "memory");
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
        asm volatile("" ::: "memory");
        const int32_t have = static_cast<const volatile __gm__ int32_t &>(word(0));
        if (have != stored + 1) {
            Miss(observation, core.number, have, stored + 1);
        }
        PipeBarrier<PIPE_ALL>();
    }
    return true;
}

} // namespace probe
