#include "heard.h"

namespace AscendC::host {

bool Done::covers(const Access &access) const {
    if (launch != access.done.launch) return launch > access.done.launch;
    if (access.remote) return landed >= access.seq;
    return (access.pipe == PIPE_S ? scalar : clock.at[access.pipe]) >= access.seq;
}

namespace {

bool isNewer(const Release *a, const Release *b) { return a && (!b || a->number > b->number); }

bool includes(const Heard &all, const Heard &part) {
    for (size_t i = 0; i < part->size(); ++i)
        if (isNewer((*part)[i], (*all)[i])) return false;
    return true;
}

} // namespace

bool knows(uint32_t core, const Done &done, const Heard &heard, const Access &access) {
    if (access.core == core && done.covers(access))
        return true; // otherwise it must know of the access through a word that it has polled
    const Release *release = heard ? (*heard)[access.core] : nullptr;
    return release && release->done.covers(access);
}

Heard join(const Heard &a, const Heard &b) {
    if (!b || a == b) return a;
    if (!a || includes(b, a)) return b;
    if (includes(a, b)) return a;
    auto both = std::make_shared<std::vector<const Release *>>(*a);
    for (size_t i = 0; i < both->size(); ++i)
        if (isNewer((*b)[i], (*both)[i])) (*both)[i] = (*b)[i];
    return both;
}

Heard with(const Heard &heard, size_t cores, uint32_t core, const Release *release) {
    auto more = heard ? std::make_shared<std::vector<const Release *>>(*heard)
                      : std::make_shared<std::vector<const Release *>>(cores);
    if (isNewer(release, (*more)[core])) (*more)[core] = release;
    return more;
}

} // namespace AscendC::host
