// On-chip memories, and beside every block of them who touched it last.
#pragma once

#include <cstdint>
#include <memory>

#include "call.h"

namespace AscendC::host {

/// Of one block: the last call that wrote it, and the last that read it on each of up to three pipes.
struct Touch {
    uint32_t writer, writtenBytes; ///< number on its pipe (0: none), bit per byte
    uint32_t readers[3];
    Pipe writerPipe;
};

/// What a message needs of a call that has long left its queue.
struct Trace {
    uint32_t seq;
    const char *name;
    Where where;
    bool small; ///< a Mmad of fewer than ten fractals, whose sum the next one may miss
};

class Memories {
  public:
    /// Contents and history; made on first use in a launch, poisoned with 0xFF.
    uint8_t *data(Mem mem) { return ready_[index(mem)] ? bytes_[index(mem)].get() : make(mem); }
    Touch *touches(Mem mem) { return data(mem), touches_[index(mem)].get(); }
    void forget();

    static uint32_t granule(Mem mem) {
        return mem <= Mem::L1 ? 32u : mem <= Mem::L0B ? 512u : mem == Mem::L0C ? 1024u : 64u;
    }

    static constexpr uint32_t kTraces = 512;
    Trace *traces(Pipe pipe);

  private:
    static uint32_t index(Mem mem) { return static_cast<uint32_t>(mem); }
    uint8_t *make(Mem mem);
    bool ready_[kMems] = {};
    std::unique_ptr<uint8_t[]> bytes_[kMems];
    std::unique_ptr<Touch[]> touches_[kMems];
    std::unique_ptr<Trace[]> traces_[kPipes];
};

} // namespace AscendC::host
