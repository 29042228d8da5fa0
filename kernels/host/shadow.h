// On-chip memories, and beside every block of them who touched it last.
#pragma once

#include <cstdint>
#include <memory>

#include "call.h"
#include "contents.h"

namespace AscendC::host {

/// Of one block: the last call that wrote it, and the last that read it on each of up to three pipes. Calls are known by their
/// numbers; those of a launch are larger than those of earlier ones.
struct Touch {
    uint32_t writer, writtenBytes; ///< 0: none; bit per byte
    uint32_t readers[3];
    uint32_t writerPipe;
    bool operator==(const Touch &other) const {
        // Without a branch, and without a call: most comparisons are of history that is the same.
        return ((writer ^ other.writer) | (writtenBytes ^ other.writtenBytes) | (readers[0] ^ other.readers[0]) |
                (readers[1] ^ other.readers[1]) | (readers[2] ^ other.readers[2]) | (writerPipe ^ other.writerPipe)) ==
               0;
    }
};

/// The blocks of a memory. Most calls touch whole groups of blocks, which then have one Touch for all.
class Touches {
  public:
    static constexpr uint32_t kGroup = 16; ///< blocks
    explicit Touches(uint32_t blocks);

    /// The Touch of all blocks of a group; null where blocks have their own.
    Touch *ofGroup(uint32_t group) { return groups_[group].alike ? &groups_[group].touch : nullptr; }
    /// The Touch of a block, from now on its own.
    Touch &ofBlock(uint32_t block);
    /// After all blocks of a group were touched alike: one Touch again, if what they had before lets them.
    void join(uint32_t group);

  private:
    struct Group {
        Touch touch;
        bool alike;
    };
    std::unique_ptr<Group[]> groups_;
    std::unique_ptr<Touch[]> blocks_;
};

/// What a message needs of a call that has long left its queue.
struct Trace {
    uint32_t seq;
    bool small; ///< a Mmad of fewer than ten fractals, whose sum the next one may miss
    const char *name;
    Where where;
};

/// The last calls of a pipe, by number. Parts that no call was kept in take no memory.
class Traces {
  public:
    static constexpr uint32_t kKept = 512;
    /// The call of that number, if it is still kept.
    const Trace *find(uint32_t seq) const {
        const auto &part = parts_[seq % kKept / kPart];
        return part && part[seq % kPart].seq == seq ? &part[seq % kPart] : nullptr;
    }
    /// Keeps a call in place of an older one.
    void keep(const Trace &trace) {
        auto &part = parts_[trace.seq % kKept / kPart];
        if (!part) part.reset(new Trace[kPart]());
        part[trace.seq % kPart] = trace;
    }
    void forget() {
        for (auto &part : parts_) part.reset();
    }

  private:
    static constexpr uint32_t kPart = 64;
    std::unique_ptr<Trace[]> parts_[kKept / kPart];
};

class Memories {
  public:
    /// Where a memory's bytes lie. A call touches those that it uses first.
    uint8_t *data(Mem mem) { return contents(mem).bytes(); }
    Contents &contents(Mem mem) { return ready_[index(mem)] ? *contents_[index(mem)] : make(mem); }
    /// History. It outlives launches: what an earlier one did is long over.
    Touches &touches(Mem mem) { return touches_[index(mem)] ? *touches_[index(mem)] : makeTouches(mem); }
    /// A launch begins: contents are poisoned on first use.
    void forget();
    /// Forgets the history too, so that calls can be numbered from 1 again.
    void forgetHistory();

    static uint32_t granule(Mem mem) {
        return mem <= Mem::L1 ? 32u : mem <= Mem::L0B ? 512u : mem == Mem::L0C ? 1024u : 64u;
    }

    Traces &traces(Pipe pipe) { return traces_[pipe]; }

  private:
    static uint32_t index(Mem mem) { return static_cast<uint32_t>(mem); }
    Contents &make(Mem mem);
    Touches &makeTouches(Mem mem);
    bool ready_[kMems] = {};
    std::unique_ptr<Contents> contents_[kMems];
    std::unique_ptr<Touches> touches_[kMems];
    Traces traces_[kPipes];
};

} // namespace AscendC::host
