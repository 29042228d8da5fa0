// Calls that set state registers, and the registers' values from one kernel to the next.
#include "registers.h"

#include "core.h"

namespace AscendC::host {

void initSocState(Where) {
    Registers &registers = enterCall().registers;
    registers.known = true;
    registers.atomic = Atomic::None;
    registers.masked = false;
}

void setAtomic(bool add, Dt type, Where where) {
    Registers &registers = enterCall().registers;
    registers.atomic = !add ? Atomic::None : type == Dt::I32 ? Atomic::I32 : Atomic::F32;
    registers.atomicAt = where;
}

void resetMask(Where where) {
    Core &core = enterCall();
    needKind(core, where, "ResetMask", false);
    core.registers.masked = false;
}

void setRowMajor(bool on, Where where) {
    Core &core = enterCall();
    needKind(core, where, "SetMMLayoutTransform", true);
    core.registers.rowMajor = on;
    core.registers.rowMajorAt = where;
}

void setRoundsFloats(bool on, Where where) {
    Core &core = enterCall();
    needKind(core, where, "SetHF32Mode", true);
    core.registers.roundsFloats = on;
    core.registers.floatsSet = true;
    core.registers.floatsAt = where;
}

static uint64_t whole(const Registers &r) {
    const auto bit = [](int number, bool on) { return uint64_t(on) << number; };
    const uint64_t known = bit(kRoundsFloatsBit, true) | bit(kInfinitiesBit, true) | bit(kRowMajorBit, true);
    return (r.others & ~known) | bit(kRoundsFloatsBit, r.roundsFloats) | bit(kInfinitiesBit, r.keepsInfinities) |
           bit(kRowMajorBit, r.rowMajor);
}

void setControl(uint64_t value, Where where) {
    Core &core = enterCall();
    const uint64_t changed = value ^ whole(core.registers);
    if ((changed & ~(uint64_t(1) << kInfinitiesBit)) != 0)
        fail(core, where, "set_ctrl",
             "bits other than %d of the control register would change (%llx), which other calls and kernels have set: "
             "take them from get_ctrl(), as in set_ctrl(sbitset1(get_ctrl(), %d))",
             kInfinitiesBit, static_cast<unsigned long long>(changed), kInfinitiesBit);
    core.registers.keepsInfinities = (value >> kInfinitiesBit & 1) != 0;
    core.registers.infinitiesSet = true;
    core.registers.infinitiesAt = where;
}

uint64_t control() { return whole(enterCall().registers); }

void needInfinities(Core &core, Where where, const char *name, Dt type) {
    if (type != Dt::F16 && type != Dt::BF16) return;
    if (!core.registers.infinitiesSet || !core.registers.keepsInfinities)
        fail(core, where, name,
             "16-bit floats may be computed without keeping infinities and NaN, because this or an earlier kernel has "
             "set that mode: call set_ctrl(sbitset1(get_ctrl(), 48)) first");
}

void needWholeFloats(Core &core, Where where, const char *name, Dt type) {
    if (type != Dt::F32) return;
    if (!core.registers.floatsSet || core.registers.roundsFloats)
        fail(
            core, where, name,
            "f32 operands may be multiplied with fewer bits, because this or an earlier kernel has set that mode: call "
            "SetHF32Mode(false) first");
}

void needRegisters(Core &core, Where where, const char *name) {
    if (!core.registers.known)
        fail(core, where, name,
             "the atomic mode and the vector mask are as an earlier kernel left them: call InitSocState() first");
}

void checkRegistersAtEnd(Core &core) {
    const Registers &r = core.registers;
    if (r.atomic != Atomic::None)
        fail(
            core, r.atomicAt, "SetAtomicAdd",
            "the atomic mode was still on when the kernel ended, and stays on for the next kernel: call SetAtomicNone()");
    if (r.masked)
        fail(core, r.maskedAt, "end of kernel",
             "the vector mask that this call set was still set when the kernel ended: call ResetMask()");
    if (r.keepsInfinities != r.keptThemBefore)
        fail(core, r.infinitiesAt, "set_ctrl",
             "bit 48 of the control register, which keeps infinities, had a different value when the kernel began, and "
             "nothing else restores it: save get_ctrl() when the kernel begins, and set that value again at the end");
    if (r.floatsSet && r.roundsFloats)
        fail(
            core, r.floatsAt, "SetHF32Mode",
            "the control bit was still set when the kernel ended, and nothing else clears it: call SetHF32Mode(false)");
    if (r.rowMajor)
        fail(core, r.rowMajorAt, "SetMMLayoutTransform",
             "the control bit was still set when the kernel ended, and nothing else clears it: call "
             "SetMMLayoutTransform(false)");
}

} // namespace AscendC::host
