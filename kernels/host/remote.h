// Pending writes to other ranks. They land in pieces, at any later time and in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "call.h"
#include "random.h"

namespace AscendC::host {

struct Access;
struct Core;

class Remote {
  public:
    void clear();
    bool empty() const { return pieces_.empty(); }
    /// Cuts a write at 512 B boundaries and makes the pieces pending.
    void send(Core &core, const Access *by, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes);
    void landSome(Core &core, uint32_t most);
    void landAll(Core &core);
    /// Whether an atomic has overtaken earlier plain writes since the last call.
    bool overtook() {
        bool was = overtook_;
        overtook_ = false;
        return was;
    }

  private:
    struct Piece {
        const Access *by;
        uint64_t to;
        uint32_t from; ///< position in bytes_
        uint16_t size;
        Atomic atomic;
    };
    void land(Core &core, uint32_t index);
    bool overtook_ = false;
    uint32_t plain_ = 0; ///< pieces that are not atomic
    std::vector<Piece> pieces_;
    std::vector<uint8_t> bytes_;
};

} // namespace AscendC::host
