// The history of a region of global memory: for every 32 bytes, the last accesses.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "heard.h"
#include "launch.h"
#include "random.h"

namespace AscendC::host {

/// Two accesses that are not ordered.
struct Conflict {
    enum class Kind { ReadAfterWrite, WriteAfterWrite, WriteAfterRead };
    const Access *other = nullptr; ///< null: there is no conflict
    Kind kind = Kind::ReadAfterWrite;
    uint64_t from = 0, bytes = 0; ///< in the region
};

/// The history of a region: for every byte, the accesses that a later one must be ordered after. Accesses that are
/// ordered before a later one in the list are dropped, so that usually a single write or read is left.
class GlobalShadow {
  public:
    static constexpr uint32_t kBlock = 32;

    GlobalShadow(const HpmoeHostRegion &region, size_t cores);
    ~GlobalShadow();
    GlobalShadow(const GlobalShadow &) = delete;

    /// The lock that callers of the functions below must hold.
    std::mutex lock;

    /// Extends the shadow, because the region may be larger in another launch.
    void grow(uint64_t bytes);
    Conflict read(const Access &by, uint64_t address, uint64_t bytes);
    Conflict write(const Access &by, uint64_t address, uint64_t bytes);
    /// Keeps the values of a word from now on. Used for words that cores poll or add to.
    void keep(uint64_t address) { wordAt(address); }
    /// Marks everything that was added to words of a range as complete, if `by` knows of a poll that saw all of it.
    void settle(const Access &by, uint64_t address, uint64_t bytes);
    /// Records the new values of kept words in a range.
    void changed(const Access &by, uint64_t address, uint64_t bytes);
    /// Returns a value of a word that `by` may see. Adds what the value's writers knew to `heard`.
    uint32_t poll(const Access &by, Random &random, uint64_t address, Heard *heard);

  private:
    /// A list of accesses. Lists share their tails and are never changed.
    struct Node {
        const Access *access;
        const Node *next;
    };
    struct Split;
    struct Slot {
        const Node *writers; ///< several only if they are atomics; `kSplit`: the block is split
        union {
            const Node *readers;
            Split *split;
        };
        bool operator==(const Slot &other) const { return writers == other.writers && readers == other.readers; }
    };
    /// A value of a word after a write, with what a poll that sees it learns.
    struct Version {
        uint32_t value;
        const Access *by; ///< null: unknown
        Heard heard;
    };
    struct Word {
        std::vector<Version> versions; ///< the oldest first
        uint64_t dropped = 0;          ///< versions before these
        std::vector<std::pair<uint32_t, uint64_t>>
            seen;                    ///< newest version that each core has seen, counting dropped ones
        std::optional<Access> whole; ///< the last poll that saw everything that was added
    };
    /// A block whose bytes have different accesses.
    struct Split {
        Slot bytes[kBlock];
        std::unique_ptr<Word> words[kBlock / 4];
    };
    using Found = std::pair<const Access *, Conflict::Kind>;

    template <typename F> Conflict each(uint64_t address, uint64_t bytes, F next);
    static const Access *unordered(const Node *list, const Access &by, bool atomic);
    const Node *list(const Access &by, const Node *rest);
    const Node *prune(const Node *list, const Access &by, bool reads);
    static bool isSplit(const Slot &slot) { return slot.writers == &kSplit; }
    Split &splitOf(uint64_t block);
    Word &wordAt(uint64_t address);
    template <typename F> void eachKept(uint64_t address, uint64_t bytes, F visit);
    void begin(Word &word, uint64_t address);
    static void push(Word &word, Version version);

    static const Node kSplit;
    const uint64_t base_;
    const size_t cores_;
    uint64_t blocks_ = 0;
    Slot *slots_ = nullptr;
    std::deque<Split> splits_;
    std::deque<Node> nodes_;
    const Node *last_ = nullptr;
};

} // namespace AscendC::host
