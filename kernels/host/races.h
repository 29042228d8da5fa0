// The search for races in global memory, among ranks of one process that run together.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "global_shadow.h"

namespace AscendC::host {

/// Two accesses of a byte, at least one of them a write, must be ordered: on the same core by its pipes, otherwise by a
/// word that one core writes and the other polls. Atomics are ordered with each other.
class Races {
  public:
    Races(uint32_t ranks, uint32_t coresOfRank);
    ~Races();
    Races(const Races &) = delete;

    bool isFor(uint32_t rank, uint32_t cores) const { return rank < ended_.size() && cores == coresOfRank_; }
    uint32_t coresOfRank() const { return coresOfRank_; }
    /// The shadow of a region; null for memory that is only read or whose words are self-validating.
    GlobalShadow *shadowOf(const HpmoeHostRegion &region);
    /// Starts a launch of a rank. Returns its number, and what its cores know of all others.
    uint64_t begin(uint32_t rank, Heard *heard);
    /// Ends a launch of a rank, on all of its cores.
    void end(uint32_t rank, const std::vector<Heard> &heard);

    /// Keeps an access. A write becomes a release.
    Access &note(Access access, bool write);
    Conflict read(GlobalShadow &shadow, Access &by, uint64_t address, uint32_t rows, uint64_t bytes, uint64_t pitch);
    /// Checks a write and makes it.
    Conflict write(GlobalShadow &shadow, const Access &by, Atomic atomic, uint64_t to, const uint8_t *from,
                   uint32_t bytes);
    /// Tells that a write of more than a line has landed. The words of such a write are never polled.
    void forget(GlobalShadow &shadow, Access &by);
    /// Checks a store that reaches memory only later, when its line is written back.
    Conflict store(GlobalShadow &shadow, const Access &by, uint64_t address, uint32_t bytes);
    /// Returns the value of a word that `by` polls: the last one, or an earlier one that may still be visible, because
    /// writes may take any time. Adds what the value's writers knew to `heard`.
    uint32_t poll(GlobalShadow &shadow, const Access &by, Random &random, uint64_t address, Heard *heard);

  private:
    struct CoreLog {
        std::deque<Access> accesses;
        std::deque<Release> releases;
    };
    uint32_t coresOfRank_;
    std::vector<CoreLog> cores_;
    std::vector<Heard> ended_;       ///< of each rank: what is known after its last launch
    std::vector<uint64_t> launches_; ///< of each rank
    std::mutex lock_;
    std::map<uint64_t, std::unique_ptr<GlobalShadow>> shadows_; // by address
};

} // namespace AscendC::host
