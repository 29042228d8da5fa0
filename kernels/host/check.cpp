// Rules that many calls share: core kinds, memories, alignments, ranges.
#include "core.h"

namespace AscendC::host {

void needKind(Core &core, Where where, const char *name, bool aic) {
    if (core.aic == aic) return;
    fail(core, where, name, "this call exists on an %s only; put it under `if ASCEND_IS_%s { }`", aic ? "AIC" : "AIV",
         aic ? "AIC" : "AIV");
}

void checkRange(Core &core, Where where, const char *name, const char *field, uint64_t value, uint64_t low,
                uint64_t high) {
    if (value >= low && value <= high) return;
    fail(core, where, name, "%s = %llu is outside %llu..=%llu", field, static_cast<unsigned long long>(value),
         static_cast<unsigned long long>(low), static_cast<unsigned long long>(high));
}

static Mem memoryOf(Core &core, Where where, const char *name, const char *what, TPosition position) {
    switch (position) {
    case TPosition::VECIN:
    case TPosition::VECOUT:
    case TPosition::VECCALC: return Mem::UB;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1: return Mem::L1;
    case TPosition::A2: return Mem::L0A;
    case TPosition::B2: return Mem::L0B;
    case TPosition::CO1: return Mem::L0C;
    case TPosition::C2: return Mem::BT;
    case TPosition::CO2:
    case TPosition::GM: break;
    }
    fail(core, where, name, "%s is a LocalTensor without an on-chip position", what);
}

Mem checkLocal(Core &core, Where where, const char *name, const char *what, const Local &local, uint64_t bytes,
               uint32_t alignment) {
    Mem mem = memoryOf(core, where, name, what, local.position);
    const char *memory = kMemNames[static_cast<int>(mem)];
    if (core.aic == (mem == Mem::UB))
        fail(core, where, name, "%s is in %s, which an %s does not have", what, memory, core.aic ? "AIC" : "AIV");
    if (local.address % alignment)
        fail(core, where, name, "%s starts at byte %u of %s, which is not a multiple of %u", what, local.address,
             memory, alignment);
    uint32_t limit = kMemBytes[static_cast<int>(mem)];
    if (local.address + bytes > limit)
        fail(core, where, name, "%s takes bytes %u..%llu of %s, of which %u are usable%s", what, local.address,
             static_cast<unsigned long long>(local.address + bytes), memory, limit,
             mem == Mem::UB ? " (the top 8 KiB are scratch)" : "");
    if (local.address + bytes > local.end)
        fail(core, where, name, "%s takes bytes %u..%llu of %s, but the tensor ends at byte %u", what, local.address,
             static_cast<unsigned long long>(local.address + bytes), memory, local.end);
    if (local.end > limit)
        fail(core, where, name, "%s is a tensor up to byte %u of %s, of which %u are usable", what, local.end, memory,
             limit);
    checkLentMemory(core, where, name, what, mem, local.address, local.address + bytes);
    return mem;
}

} // namespace AscendC::host
