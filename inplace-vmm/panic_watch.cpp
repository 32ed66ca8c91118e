// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/panic_watch.hpp"

#include <string_view>

namespace previrt {

namespace {

// Its first character occurs only once in it.
constexpr std::string_view panic = "Kernel panic - not syncing";
static_assert(panic.find(panic.front(), 1) == std::string_view::npos);

} // namespace

bool PanicWatch::read(char character) {
    if (matched_ < panic.size()) {
        const unsigned anew = character == panic.front() ? 1 : 0;
        matched_ = character == panic[matched_] ? matched_ + 1 : anew;
        return false;
    }
    if (character != '\n' || told_) {
        return false;
    }
    told_ = true;
    return true;
}

} // namespace previrt
