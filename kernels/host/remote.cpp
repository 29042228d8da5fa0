#include "remote.h"

#include "core.h"

namespace AscendC::host {

void Remote::clear() {
    pieces_.clear();
    bytes_.clear();
    overtook_ = false;
    plain_ = 0;
}

void Remote::send(Core &core, const Access *by, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes) {
    while (bytes) {
        uint32_t room = 512 - static_cast<uint32_t>(to % 512), size = bytes < room ? bytes : room;
        // Atomics are signals: most of them overtake all pending writes.
        if (atomic != Atomic::None && !core.random.oneIn(4)) {
            overtook_ |= plain_ != 0;
            landGlobal(core, by, atomic, to, from, size);
        } else {
            pieces_.push_back(Piece{by, to, static_cast<uint32_t>(bytes_.size()), static_cast<uint16_t>(size), atomic});
            plain_ += atomic == Atomic::None;
            bytes_.insert(bytes_.end(), from, from + size);
        }
        to += size, from += size, bytes -= size;
    }
    if (bytes_.size() > (1u << 20)) landAll(core);
}

void Remote::land(Core &core, uint32_t index) {
    Piece piece = pieces_[index];
    pieces_[index] = pieces_.back();
    pieces_.pop_back();
    plain_ -= piece.atomic == Atomic::None;
    landGlobal(core, piece.by, piece.atomic, piece.to, bytes_.data() + piece.from, piece.size);
    if (pieces_.empty()) bytes_.clear();
}

void Remote::landSome(Core &core, uint32_t most) {
    while (most-- && !pieces_.empty()) land(core, core.random.below(static_cast<uint32_t>(pieces_.size())));
}

void Remote::landAll(Core &core) {
    while (!pieces_.empty()) land(core, static_cast<uint32_t>(pieces_.size()) - 1);
}

} // namespace AscendC::host
