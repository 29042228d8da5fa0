// How a core stops on an error: the rank's first message is kept, and everything stops.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core.h"

namespace AscendC::host {

void leaveForEver(Core &core) {
    for (;;) core.fiber.leave();
}

static const char *shortName(const char *file) {
    const char *name = file;
    for (const char *p = file; *p; ++p)
        if (*p == '/') name = p + 1;
    return name;
}

std::string describe(const Call &call) {
    char text[256];
    if (call.op == Op::SetFlag || call.op == Op::WaitFlag)
        std::snprintf(text, sizeof text, "%s<%s_%s>(%u) at %s:%d", call.name, kPipeNames[sourceOf(call.flag.event)],
                      kPipeNames[targetOf(call.flag.event)], call.flag.id, shortName(call.where.file), call.where.line);
    else std::snprintf(text, sizeof text, "%s at %s:%d", call.name, shortName(call.where.file), call.where.line);
    return text;
}

void fail(Core &core, Where where, const char *name, const char *format, ...) {
    Rank &rank = *core.rank;
    if (!rank.failed.exchange(true)) {
        HpmoeHostResult &result = *rank.result;
        result.code = HPMOE_HOST_BROKEN_RULE;
        result.core_kind = core.aic ? HPMOE_HOST_AIC : HPMOE_HOST_AIV;
        result.core_index = core.index;
        int used =
            std::snprintf(result.message, sizeof result.message, "rank %u, %s %u: %s at %s:%d: ", rank.options.rank,
                          core.aic ? "AIC" : "AIV", core.index, name, where.file, where.line);
        if (used > 0 && static_cast<size_t>(used) < sizeof result.message) {
            va_list arguments;
            va_start(arguments, format);
            std::vsnprintf(result.message + used, sizeof result.message - static_cast<size_t>(used), format, arguments);
            va_end(arguments);
        }
    }
    __atomic_store_n(rank.stop, 1, __ATOMIC_SEQ_CST);
    leaveForEver(core);
}

void starve(Core &core) {
    Rank &rank = *core.rank;
    if (!rank.failed.exchange(true)) {
        rank.result->code = HPMOE_HOST_NO_MEMORY;
        std::snprintf(rank.result->message, sizeof rank.result->message, "%s", std::strerror(ENOMEM));
    }
    __atomic_store_n(rank.stop, 1, __ATOMIC_SEQ_CST);
    leaveForEver(core);
}

} // namespace AscendC::host
