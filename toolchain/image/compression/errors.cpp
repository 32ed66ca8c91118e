// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/compression/errors.hpp"

#include "host/input_error.hpp"

namespace previrt {

void throw_ends_early(const std::string& words) {
    throw InputError("compressed kernel ends early: " + words);
}

void throw_holds_more(std::size_t claimed) {
    throw InputError("compressed kernel holds more than the " + std::to_string(claimed) + " bytes it claims");
}

void throw_damaged(Compression compression, std::string_view words, std::size_t offset) {
    throw InputError("compressed kernel is damaged: " + std::string(words) + " (" +
                     std::string(name_of(compression)) + " data, near byte " + std::to_string(offset) + ")");
}

void check_nothing_follows(Compression compression, std::span<const std::uint8_t> data, std::size_t end) {
    if (end != data.size()) {
        throw_damaged(compression, std::to_string(data.size() - end) + " bytes follow its end", end);
    }
}

void check_claim_is_met(std::size_t produced, std::size_t claimed) {
    if (produced < claimed) {
        throw_ends_early("it gives " + std::to_string(produced) + " of the " + std::to_string(claimed) +
                         " bytes it claims");
    }
}

} // namespace previrt
