// Writes on their way to other ranks: they land piece by piece, at any later moment, in any order.
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
    /// Cuts a write at 512 B boundaries and sends the pieces off.
    void send(Core &core, const Access *by, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes);
    void landSome(Core &core, uint32_t most);
    void landAll(Core &core);
    /// Whether an atomic has passed earlier plain writes since the last question.
    bool overtook() {
        bool was = overtook_;
        overtook_ = false;
        return was;
    }

  private:
    struct Piece {
        const Access *by;
        uint64_t to;
        uint32_t from; ///< in bytes_
        uint16_t size;
        Atomic atomic;
    };
    void land(Core &core, uint32_t index);
    bool overtook_ = false;
    uint32_t plain_ = 0; ///< pieces that are no atomics
    std::vector<Piece> pieces_;
    std::vector<uint8_t> bytes_;
};

} // namespace AscendC::host
