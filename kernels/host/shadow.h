// On-chip memories, with the last accesses of every block.
#pragma once

#include <cstdint>
#include <memory>

#include "call.h"
#include "contents.h"

namespace AscendC::host {

/// The history of one block: the last call that wrote it, and the last call that read it on each of up to three pipes.
/// Calls are identified by numbers, which grow from launch to launch.
struct Touch {
    uint32_t writer, writtenBytes; ///< 0: none; one bit per byte
    uint32_t readers[3];
    uint32_t writerPipe;
    bool operator==(const Touch &other) const {
        // Without a branch or a call, because most comparisons are of equal histories.
        return ((writer ^ other.writer) | (writtenBytes ^ other.writtenBytes) | (readers[0] ^ other.readers[0]) |
                (readers[1] ^ other.readers[1]) | (readers[2] ^ other.readers[2]) | (writerPipe ^ other.writerPipe)) ==
               0;
    }
};

/// The histories of a memory's blocks. Most calls access whole groups of blocks, so a group whose blocks have equal
/// histories has a single Touch.
class Touches {
  public:
    static constexpr uint32_t kGroup = 16; ///< blocks
    explicit Touches(uint32_t blocks);

    /// The Touch of all blocks of a group; null if the blocks have separate ones.
    Touch *ofGroup(uint32_t group) { return groups_[group].alike ? &groups_[group].touch : nullptr; }
    /// The Touch of a single block, which is separate from now on.
    Touch &ofBlock(uint32_t block);
    /// Gives a group a single Touch again, if its blocks have equal histories. Called after all of them were accessed
    /// alike.
    void join(uint32_t group);

  private:
    struct Group {
        Touch touch;
        bool alike;
    };
    std::unique_ptr<Group[]> groups_;
    std::unique_ptr<Touch[]> blocks_;
};

/// The part of a finished call that messages need.
struct Trace {
    uint32_t seq;
    bool small; ///< a Mmad of fewer than ten fractals, whose sums the next call may not see
    const char *name;
    Where where;
};

/// The last calls of a pipe, by number. Parts without a call take no memory.
class Traces {
  public:
    static constexpr uint32_t kKept = 512;
    /// The call with this number, if it is still kept.
    const Trace *find(uint32_t seq) const {
        const auto &part = parts_[seq % kKept / kPart];
        return part && part[seq % kPart].seq == seq ? &part[seq % kPart] : nullptr;
    }
    /// Keeps a call, which replaces an older one.
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
    /// The bytes of a memory. A call must touch the bytes that it uses first.
    uint8_t *data(Mem mem) { return contents(mem).bytes(); }
    Contents &contents(Mem mem) { return ready_[index(mem)] ? *contents_[index(mem)] : make(mem); }
    /// The history of a memory. It outlives launches, because everything in earlier launches is complete.
    Touches &touches(Mem mem) { return touches_[index(mem)] ? *touches_[index(mem)] : makeTouches(mem); }
    /// Starts a launch: contents are poisoned on first use.
    void forget();
    /// Forgets the history, too, so that calls can be numbered from 1 again.
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
