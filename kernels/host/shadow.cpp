// Finds every pair of accesses to an on-chip block that nothing orders, whatever order they ran in.
//
// Each call knows (its clock) which calls of each pipe were complete before it could start: by flags,
// barriers, unit flags, and by what the scalar unit had waited for when it issued the call. Two
// accesses of one block, one of them a write, must be ordered by that, or by the habits of one pipe.
#include "shadow.h"

#include <cstring>

#include "core.h"

namespace AscendC::host {

const char *const kPipeNames[kPipes + 1] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
const char *const kMemNames[kMems] = {"UB", "L1", "L0A", "L0B", "L0C", "bias table"};
const uint32_t kMemBytes[kMems] = {184 * 1024 - 256, 512 * 1024 - 256, 64 * 1024, 64 * 1024, 128 * 1024, 1024};

uint8_t *Memories::make(Mem mem) {
    uint32_t i = index(mem), bytes = roundUp(kMemBytes[i], 1024), blocks = bytes / granule(mem);
    if (!bytes_[i]) {
        bytes_[i].reset(new uint8_t[bytes]);
        touches_[i].reset(new Touch[blocks]);
    }
    std::memset(bytes_[i].get(), 0xFF, bytes);
    std::memset(static_cast<void *>(touches_[i].get()), 0, blocks * sizeof(Touch));
    ready_[i] = true;
    return bytes_[i].get();
}

void Memories::forget() {
    for (bool &ready : ready_) ready = false;
    for (auto &traces : traces_)
        if (traces) std::memset(static_cast<void *>(traces.get()), 0, kTraces * sizeof(Trace));
}

Trace *Memories::traces(Pipe pipe) {
    auto &traces = traces_[pipe];
    if (!traces) traces.reset(new Trace[kTraces]());
    return traces.get();
}

namespace {

/// Which of a block's reader slots a pipe uses: no memory has more than three reading pipes.
constexpr uint8_t kSlot[kPipes] = {2, 0, 0, 0, 1, 1, 2};
Pipe readerOf(Mem mem, uint32_t slot) {
    static constexpr Pipe ub[3] = {PIPE_V, PIPE_MTE3, PIPE_S}, l1[3] = {PIPE_MTE1, PIPE_MTE3, PIPE_FIX},
                          cube[3] = {PIPE_M, PIPE_MTE3, PIPE_FIX};
    return mem == Mem::UB ? ub[slot] : mem == Mem::L1 ? l1[slot] : cube[slot];
}

enum class Kind { ReadAfterWrite, WriteAfterWrite, WriteAfterRead };

const Trace *find(Core &core, Pipe pipe, uint32_t seq) {
    const Trace &trace = core.memories.traces(pipe)[seq % Memories::kTraces];
    return trace.seq == seq ? &trace : nullptr;
}

bool ordered(Core &core, const Call &call, Pipe pipe, uint32_t seq, Kind kind) {
    if (call.clock.at[pipe] >= seq) return true;
    if (call.pipe != pipe) return false;
    if (call.seq == seq || pipe == PIPE_S) return true;
    // Calls of one pipe start in order and read when they start.
    if (kind == Kind::WriteAfterRead) return true;
    if (pipe == PIPE_M) {
        if (kind == Kind::WriteAfterWrite) return true;
        const Trace *trace = find(core, pipe, seq);
        return !trace || !trace->small;
    }
    return false;
}

[[noreturn]] void race(Core &core, const Call &call, Mem mem, uint32_t block, Pipe pipe, uint32_t seq, Kind kind) {
    static const char *const verbs[] = {"reads what %s wrote", "overwrites what %s wrote", "overwrites what %s reads"};
    const Trace *trace = find(core, pipe, seq);
    char other[256], verb[300], help[160];
    if (trace)
        std::snprintf(other, sizeof other, "%s (PIPE_%s, %s:%d)", trace->name, kPipeNames[pipe], trace->where.file,
                      trace->where.line);
    else std::snprintf(other, sizeof other, "an earlier call (PIPE_%s)", kPipeNames[pipe]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::snprintf(verb, sizeof verb, verbs[static_cast<int>(kind)], other);
#pragma GCC diagnostic pop
    if (pipe == call.pipe) std::snprintf(help, sizeof help, "PipeBarrier<PIPE_%s>() between them", kPipeNames[pipe]);
    else
        std::snprintf(help, sizeof help, "SetFlag and WaitFlag<HardEvent::%s_%s> between them", kPipeNames[pipe],
                      kPipeNames[call.pipe]);
    uint32_t size = Memories::granule(mem);
    fail(core, call.where, call.name,
         "race in %s, bytes %u..%u: this call (PIPE_%s) %s, and nothing orders the two. Put %s",
         kMemNames[static_cast<int>(mem)], block * size, (block + 1) * size, kPipeNames[call.pipe], verb, help);
}

uint32_t bitsFor(uint32_t from, uint32_t to) { // bytes from..to of a 32 B block
    uint32_t n = to - from;
    return n >= 32 ? ~0u : ((1u << n) - 1u) << from;
}

} // namespace

void touch(Core &core, Call &call, Mem mem, uint32_t offset, uint32_t bytes, bool write) {
    if (bytes == 0) return;
    Touch *touches = core.memories.touches(mem);
    const uint32_t size = Memories::granule(mem), first = offset / size, last = (offset + bytes - 1) / size;
    for (uint32_t b = first; b <= last; ++b) {
        Touch &t = touches[b];
        uint32_t mask = ~0u;
        if (size == 32 && (b == first || b == last)) {
            uint32_t from = b == first ? offset - b * 32 : 0, to = b == last ? offset + bytes - b * 32 : 32;
            mask = bitsFor(from, to);
        }
        if (t.writer && (t.writtenBytes & mask)) {
            Kind kind = write ? Kind::WriteAfterWrite : Kind::ReadAfterWrite;
            if (!ordered(core, call, t.writerPipe, t.writer, kind))
                race(core, call, mem, b, t.writerPipe, t.writer, kind);
        }
        if (!write) {
            if (call.pipe == PIPE_S) continue; // a value that GetValue returned has been read
            uint32_t &reader = t.readers[kSlot[call.pipe]];
            if (reader < call.seq) reader = call.seq;
            continue;
        }
        for (uint32_t slot = 0; slot < 3; ++slot)
            if (t.readers[slot]) {
                Pipe pipe = readerOf(mem, slot);
                if (!ordered(core, call, pipe, t.readers[slot], Kind::WriteAfterRead))
                    race(core, call, mem, b, pipe, t.readers[slot], Kind::WriteAfterRead);
            }
        // Two writers of different bytes of one block on one pipe are remembered as one.
        bool other = t.writer && t.writerPipe == call.pipe && !(t.writtenBytes & mask);
        t.writtenBytes = other ? t.writtenBytes | mask : mask;
        if (!other || t.writer < call.seq) t.writer = call.seq;
        t.writerPipe = call.pipe;
    }
}

} // namespace AscendC::host
