#include "races.h"

#include <algorithm>
#include <cstring>

#include "core.h"

namespace AscendC::host {

Races::Races(uint32_t ranks, uint32_t coresOfRank)
    : coresOfRank_(coresOfRank), cores_(size_t(ranks) * coresOfRank), ended_(ranks), launches_(ranks) {}
Races::~Races() = default;

GlobalShadow *Races::shadowOf(const HpmoeHostRegion &region) {
    if (!region.writable || region.self_validating || !region.bytes) return nullptr;
    std::lock_guard<std::mutex> guard(lock_);
    std::unique_ptr<GlobalShadow> &shadow = shadows_[reinterpret_cast<uint64_t>(region.base)];
    if (!shadow) shadow = std::make_unique<GlobalShadow>(region, cores_.size());
    std::lock_guard<std::mutex> growing(shadow->lock);
    shadow->grow(region.bytes);
    return shadow.get();
}

uint64_t Races::begin(uint32_t rank, Heard *heard) {
    *heard = ended_[rank];
    return launches_[rank]++;
}

void Races::end(uint32_t rank, const std::vector<Heard> &heard) {
    Heard all = ended_[rank];
    for (const Heard &of : heard) all = join(all, of);
    for (uint32_t core = rank * coresOfRank_; core < (rank + 1) * coresOfRank_; ++core) {
        auto &releases = cores_[core].releases;
        releases.push_back(Release{releases.size(), Done{launches_[rank], {}, 0, 0}});
        all = with(all, cores_.size(), core, &releases.back());
    }
    ended_[rank] = all;
}

Access &Races::note(Access access, bool write) {
    CoreLog &log = cores_[access.core];
    if (write) {
        Done done = access.done;
        if (!log.releases.empty() && log.releases.back().done.launch == done.launch) {
            const Done &before = log.releases.back().done;
            done.clock.join(before.clock);
            done.landed = std::max(done.landed, before.landed), done.scalar = std::max(done.scalar, before.scalar);
        }
        log.releases.push_back(Release{log.releases.size(), done});
        access.release = &log.releases.back();
    }
    log.accesses.push_back(std::move(access));
    return log.accesses.back();
}

Conflict Races::read(GlobalShadow &shadow, Access &by, uint64_t address, uint32_t rows, uint64_t bytes,
                     uint64_t pitch) {
    std::lock_guard<std::mutex> guard(shadow.lock);
    for (uint32_t row = 0; row < rows; ++row)
        if (Conflict conflict = shadow.read(by, address + row * pitch, bytes); conflict.other) return conflict;
    by.heard.reset(); // no other core learns from a read
    return {};
}

void Races::forget(GlobalShadow &shadow, Access &by) {
    std::lock_guard<std::mutex> guard(shadow.lock);
    by.heard.reset();
}

Conflict Races::write(GlobalShadow &shadow, const Access &by, Atomic atomic, uint64_t to, const uint8_t *from,
                      uint32_t bytes) {
    std::lock_guard<std::mutex> guard(shadow.lock);
    auto *memory = reinterpret_cast<uint8_t *>(to);
    if (atomic != Atomic::I32) {
        shadow.settle(by, to, bytes);
        Conflict conflict = shadow.write(by, to, bytes);
        // Several cores may write the same value at once, like all cores that give a launch up.
        if (conflict.other && conflict.kind == Conflict::Kind::WriteAfterWrite && bytes <= GlobalShadow::kBlock &&
            !std::memcmp(memory, from, bytes))
            return {};
        if (conflict.other) return conflict;
        applyWrite(atomic, memory, from, bytes);
        shadow.changed(by, to, bytes);
        return {};
    }
    for (uint32_t i = 0; i < bytes; i += 4) {
        static constexpr uint8_t nothing[4] = {};
        if (!std::memcmp(from + i, nothing, 4)) continue;
        shadow.keep(to + i);
        if (Conflict conflict = shadow.write(by, to + i, 4); conflict.other) return conflict;
        applyWrite(atomic, memory + i, from + i, 4);
        shadow.changed(by, to + i, 4);
    }
    return {};
}

Conflict Races::store(GlobalShadow &shadow, const Access &by, uint64_t address, uint32_t bytes) {
    std::lock_guard<std::mutex> guard(shadow.lock);
    return shadow.write(by, address, bytes);
}

uint32_t Races::poll(GlobalShadow &shadow, const Access &by, Random &random, uint64_t address, Heard *heard) {
    std::lock_guard<std::mutex> guard(shadow.lock);
    return shadow.poll(by, random, address, heard);
}

} // namespace AscendC::host
