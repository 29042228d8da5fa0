#include "global_shadow.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace AscendC::host {

namespace {

constexpr size_t kVersions = 8; // versions of a word that a poll may still return

uint32_t valueAt(uint64_t address) { return __atomic_load_n(reinterpret_cast<uint32_t *>(address), __ATOMIC_ACQUIRE); }

} // namespace

const GlobalShadow::Node GlobalShadow::kSplit = {nullptr, nullptr};

GlobalShadow::GlobalShadow(const HpmoeHostRegion &region, size_t cores)
    : base_(reinterpret_cast<uint64_t>(region.base)), cores_(cores) {}

GlobalShadow::~GlobalShadow() { std::free(slots_); }

void GlobalShadow::grow(uint64_t bytes) {
    const uint64_t blocks = bytes / kBlock + 1;
    if (blocks <= blocks_) return;
    // calloc takes no memory for zeros that are never touched.
    Slot *slots = static_cast<Slot *>(std::calloc(blocks, sizeof(Slot)));
    if (!slots) throw std::bad_alloc();
    std::copy(slots_, slots_ + blocks_, slots);
    std::free(slots_);
    slots_ = slots, blocks_ = blocks;
}

/// Sets the slot of each block or byte to its state after the access. Most slots have the same history as the previous
/// slot, whose result is then reused.
template <typename F> Conflict GlobalShadow::each(uint64_t address, uint64_t bytes, F next) {
    Slot before = {}, after = {};
    bool known = false;
    const uint64_t from = address - base_, to = from + bytes;
    for (uint64_t at = from; at < to;) {
        const uint64_t block = at / kBlock, end = std::min(to, (block + 1) * kBlock);
        const bool whole = end - at == kBlock;
        Slot *slot = &slots_[block];
        uint64_t count = 1;
        if (!whole || isSplit(*slot)) slot = splitOf(block).bytes + at % kBlock, count = end - at;
        for (uint64_t i = 0; i < count; ++i) {
            if (!known || !(slot[i] == before)) {
                before = slot[i];
                Found found = next(before, &after);
                if (found.first) {
                    uint64_t same = i; // bytes of the block with the same history
                    while (++same < count && slot[same] == before) {}
                    return {found.first, found.second, at + i, count == 1 ? end - at : same - i};
                }
                known = true;
            }
            slot[i] = after;
        }
        at = end;
    }
    return {};
}

Conflict GlobalShadow::read(const Access &by, uint64_t address, uint64_t bytes) {
    return each(address, bytes, [&](const Slot &slot, Slot *after) {
        if (const Access *other = unordered(slot.writers, by, false))
            return Found{other, Conflict::Kind::ReadAfterWrite};
        // A later read of a pipe completes only after the earlier ones.
        *after = slot, after->readers = list(by, prune(slot.readers, by, true));
        return Found{};
    });
}

Conflict GlobalShadow::write(const Access &by, uint64_t address, uint64_t bytes) {
    return each(address, bytes, [&](const Slot &slot, Slot *after) {
        if (const Access *other = unordered(slot.writers, by, by.atomic))
            return Found{other, Conflict::Kind::WriteAfterWrite};
        if (const Access *other = unordered(slot.readers, by, false))
            return Found{other, Conflict::Kind::WriteAfterRead};
        after->writers = list(by, by.atomic ? prune(slot.writers, by, false) : nullptr), after->readers = nullptr;
        return Found{};
    });
}

/// The first access in a list that is not known to be complete. Atomics don't conflict with atomics.
const Access *GlobalShadow::unordered(const Node *list, const Access &by, bool atomic) {
    for (; list; list = list->next)
        if (!(atomic && list->access->atomic) && !knows(by, *list->access)) return list->access;
    return nullptr;
}

const GlobalShadow::Node *GlobalShadow::list(const Access &by, const Node *rest) {
    if (!last_ || last_->access != &by || last_->next != rest) {
        nodes_.push_back(Node{&by, rest});
        last_ = &nodes_.back();
    }
    return last_;
}

/// The accesses of a list that must be kept when a later access joins it.
const GlobalShadow::Node *GlobalShadow::prune(const Node *list, const Access &by, bool reads) {
    if (!list) return nullptr;
    const Node *rest = prune(list->next, by, reads);
    const Access &access = *list->access;
    bool same = reads && access.core == by.core && access.pipe == by.pipe && access.done.launch == by.done.launch;
    if (same || knows(by, access)) return rest;
    if (rest == list->next) return list;
    nodes_.push_back(Node{&access, rest});
    return &nodes_.back();
}

GlobalShadow::Split &GlobalShadow::splitOf(uint64_t block) {
    Slot &slot = slots_[block];
    if (!isSplit(slot)) {
        splits_.emplace_back();
        std::fill_n(splits_.back().bytes, kBlock, slot);
        slot.writers = &kSplit, slot.split = &splits_.back();
    }
    return *slot.split;
}

GlobalShadow::Word &GlobalShadow::wordAt(uint64_t address) {
    std::unique_ptr<Word> &word = splitOf((address - base_) / kBlock).words[(address - base_) % kBlock / 4];
    if (!word) {
        auto fresh = std::make_unique<Word>();
        begin(*fresh, address);
        word = std::move(fresh);
    }
    return *word;
}

/// Starts the next version of a word, of which only the writers are known.
void GlobalShadow::begin(Word &word, uint64_t address) {
    Version version{valueAt(address), nullptr, nullptr};
    const Node *writers = splitOf((address - base_) / kBlock).bytes[(address - base_) % kBlock].writers;
    for (; writers; writers = writers->next) {
        const Access &writer = *writers->access;
        version.heard = join(version.heard, with(writer.heard, cores_, writer.core, writer.release));
    }
    push(word, std::move(version));
}

void GlobalShadow::push(Word &word, Version version) {
    word.versions.push_back(std::move(version));
    word.whole.reset();
    if (word.versions.size() <= kVersions) return;
    word.versions.erase(word.versions.begin());
    ++word.dropped;
}

/// Calls `visit` with the kept words of a range.
template <typename F> void GlobalShadow::eachKept(uint64_t address, uint64_t bytes, F visit) {
    const uint64_t from = address - base_, to = from + bytes;
    for (uint64_t block = from / kBlock; block * kBlock < to; ++block) {
        if (!isSplit(slots_[block])) continue;
        Split &split = *slots_[block].split;
        for (uint64_t i = 0; i < kBlock / 4; ++i) {
            const uint64_t at = block * kBlock + i * 4;
            if (split.words[i] && at + 4 > from && at < to) visit(*split.words[i], split.bytes + i * 4, base_ + at);
        }
    }
}

void GlobalShadow::settle(const Access &by, uint64_t address, uint64_t bytes) {
    eachKept(address, bytes, [&by](Word &word, Slot *slots, uint64_t) {
        if (!word.whole || !knows(by, *word.whole)) return;
        for (uint32_t i = 0; i < 4; ++i) slots[i].writers = nullptr;
    });
}

void GlobalShadow::changed(const Access &by, uint64_t address, uint64_t bytes) {
    eachKept(address, bytes, [&](Word &word, Slot *, uint64_t at) {
        Heard heard = with(by.heard, cores_, by.core, by.release);
        // A core that sees a sum sees everything that was added.
        if (by.atomic) heard = join(heard, word.versions.back().heard);
        push(word, Version{valueAt(at), &by, std::move(heard)});
    });
}

uint32_t GlobalShadow::poll(const Access &by, Random &random, uint64_t address, Heard *heard) {
    Word &word = wordAt(address);
    if (word.versions.back().value != valueAt(address)) begin(word, address); // a line of a cache was written back
    uint64_t newest = word.dropped + word.versions.size() - 1;
    auto mine = std::find_if(word.seen.begin(), word.seen.end(), [&by](const auto &s) { return s.first == by.core; });
    if (mine == word.seen.end()) mine = word.seen.insert(mine, {by.core, 0});
    uint64_t oldest = std::max(mine->second, word.dropped);
    for (uint64_t i = newest; i > oldest; --i) {
        const Access *writer = word.versions[i - word.dropped].by;
        if (writer && knows(by, *writer)) oldest = i; // its write has landed
    }
    // Mostly advances by one write only, so that a core that relies on too few of them is found.
    const uint64_t chosen = oldest == newest || random.oneIn(4) ? newest : oldest + 1;
    mine->second = chosen;
    if (chosen == newest) word.whole = by;
    const Version &version = word.versions[chosen - word.dropped];
    *heard = join(*heard, version.heard);
    return version.value;
}

} // namespace AscendC::host
