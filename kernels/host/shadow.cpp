// Finds every pair of accesses to an on-chip block that are not ordered, whatever order they ran in.
//
// Each call knows (in its clock) which calls of each pipe were complete before it could start: through flags, barriers,
// unit flags, and everything that the scalar unit had waited for when it issued the call. Two accesses of one block,
// one of them a write, must be ordered by this or by their pipe itself.
#include "shadow.h"

#include <algorithm>
#include <cstring>

#include "core.h"

namespace AscendC::host {

// Blocks of uniform groups are not written, so that the machine gives no memory for most of them.
Touches::Touches(uint32_t blocks) : groups_(new Group[(blocks + kGroup - 1) / kGroup]()), blocks_(new Touch[blocks]) {
    const uint32_t whole = blocks / kGroup;
    for (uint32_t group = 0; group < whole; ++group) groups_[group].alike = true;
    std::fill(blocks_.get() + whole * kGroup, blocks_.get() + blocks, Touch{});
}

Touch &Touches::ofBlock(uint32_t block) {
    Group &group = groups_[block / kGroup];
    if (group.alike) {
        group.alike = false;
        std::fill_n(blocks_.get() + block / kGroup * kGroup, kGroup, group.touch);
    }
    return blocks_[block];
}

void Touches::join(uint32_t group) {
    const Touch *first = blocks_.get() + group * kGroup;
    groups_[group].alike = std::all_of(first + 1, first + kGroup, [first](const Touch &t) { return t == *first; });
    groups_[group].touch = *first;
}

Contents &Memories::make(Mem mem) {
    uint32_t i = index(mem), bytes = roundUp(kMemBytes[i], 1024);
    if (!contents_[i]) contents_[i] = std::make_unique<Contents>(bytes);
    contents_[i]->poison();
    ready_[i] = true;
    return *contents_[i];
}

Touches &Memories::makeTouches(Mem mem) {
    const uint32_t i = index(mem);
    touches_[i] = std::make_unique<Touches>(roundUp(kMemBytes[i], 1024) / granule(mem));
    return *touches_[i];
}

void Memories::forget() {
    for (bool &ready : ready_) ready = false;
}

void Memories::forgetHistory() {
    for (auto &touches : touches_) touches.reset();
    for (Traces &traces : traces_) traces.forget();
}

namespace {

/// The reader slot of a block that a pipe uses: no memory has more than three reading pipes.
constexpr uint8_t kSlot[kPipes] = {2, 0, 0, 0, 1, 1, 2};
Pipe readerOf(Mem mem, uint32_t slot) {
    static constexpr Pipe ub[3] = {PIPE_V, PIPE_MTE3, PIPE_S}, l1[3] = {PIPE_MTE1, PIPE_MTE3, PIPE_FIX},
                          cube[3] = {PIPE_M, PIPE_MTE3, PIPE_FIX};
    return mem == Mem::UB ? ub[slot] : mem == Mem::L1 ? l1[slot] : cube[slot];
}

enum class Kind { ReadAfterWrite, WriteAfterWrite, WriteAfterRead };

bool ordered(Core &core, const Call &call, Pipe pipe, uint32_t seq, Kind kind) {
    if (call.clock.at[pipe] >= seq) return true;
    if (call.pipe != pipe) return false;
    if (call.seq == seq || pipe == PIPE_S) return true;
    // Calls of one pipe start in order, and read when they start.
    if (kind == Kind::WriteAfterRead) return true;
    if (pipe == PIPE_M) {
        if (kind == Kind::WriteAfterWrite) return true;
        const Trace *trace = core.memories.traces(pipe).find(seq);
        return !trace || !trace->small;
    }
    return false;
}

[[noreturn]] void race(Core &core, const Call &call, Mem mem, uint32_t block, Pipe pipe, uint32_t seq, Kind kind) {
    static const char *const verbs[] = {"reads what %s wrote", "overwrites what %s wrote", "overwrites what %s reads"};
    const Trace *trace = core.memories.traces(pipe).find(seq);
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

/// Checks and marks one block, or a group of blocks with the same history, for a call that reads or writes the bytes of
/// a mask.
void check(Core &core, const Call &call, Mem mem, uint32_t block, Touch &t, uint32_t mask, bool write) {
    Pipe writerPipe = static_cast<Pipe>(t.writerPipe);
    if (t.writer && (t.writtenBytes & mask)) {
        Kind kind = write ? Kind::WriteAfterWrite : Kind::ReadAfterWrite;
        if (!ordered(core, call, writerPipe, t.writer, kind)) race(core, call, mem, block, writerPipe, t.writer, kind);
    }
    if (!write) {
        if (call.pipe == PIPE_S) return; // GetValue has returned the value, so the read is complete
        uint32_t &reader = t.readers[kSlot[call.pipe]];
        if (reader < call.seq) reader = call.seq;
        return;
    }
    for (uint32_t slot = 0; slot < 3; ++slot)
        if (t.readers[slot]) {
            Pipe pipe = readerOf(mem, slot);
            if (!ordered(core, call, pipe, t.readers[slot], Kind::WriteAfterRead))
                race(core, call, mem, block, pipe, t.readers[slot], Kind::WriteAfterRead);
        }
    // Two calls of one pipe in one launch that write different bytes of a block are recorded as one writer.
    bool other = writerPipe == call.pipe && t.writer > core.firstSeq[call.pipe] && !(t.writtenBytes & mask);
    t.writtenBytes = other ? t.writtenBytes | mask : mask;
    if (!other || t.writer < call.seq) t.writer = call.seq;
    t.writerPipe = call.pipe;
}

/// Checks and marks whole blocks.
void touchWhole(Core &core, const Call &call, Mem mem, uint32_t first, uint32_t end, bool write) {
    constexpr uint32_t most = Touches::kGroup;
    Touches &touches = core.memories.touches(mem);
    // Most groups have the same history as the previous one, whose result is reused.
    Touch before, after;
    bool known = false;
    while (first < end) {
        const uint32_t group = first / most, n = std::min(end, (group + 1) * most) - first;
        if (Touch *all = n == most ? touches.ofGroup(group) : nullptr) {
            if (!known || !(*all == before)) {
                before = *all;
                check(core, call, mem, first, *all, ~0u, write);
                after = *all;
                known = true;
            } else {
                *all = after;
            }
        } else {
            for (uint32_t b = first; b < first + n; ++b) check(core, call, mem, b, touches.ofBlock(b), ~0u, write);
            if (n == most) touches.join(group);
        }
        first += n;
    }
}

} // namespace

void touch(Core &core, Call &call, Mem mem, uint32_t offset, uint32_t bytes, bool write) {
    if (bytes == 0) return;
    const uint32_t size = Memories::granule(mem), end = offset + bytes;
    core.memories.contents(mem).settle(offset, end, write);
    if (!core.checks) return;
    Touches &touches = core.memories.touches(mem);
    uint32_t block = offset / size, blocks = (end - 1) / size + 1;
    if (size == 32 && offset % 32) {
        uint32_t mask = bitsFor(offset % 32, std::min(32u, end - block * 32));
        check(core, call, mem, block, touches.ofBlock(block), mask, write);
        ++block;
    }
    bool ragged = size == 32 && end % 32 && block < blocks;
    touchWhole(core, call, mem, block, blocks - ragged, write);
    if (ragged) check(core, call, mem, blocks - 1, touches.ofBlock(blocks - 1), bitsFor(0, end % 32), write);
}

} // namespace AscendC::host
