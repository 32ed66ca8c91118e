// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "tests/unit/make_bzimage.hpp"
#include "toolchain/image/bzimage.hpp"

namespace {

using Bytes = std::span<const std::uint8_t>;

void unpack(Bytes file) {
    try {
        previrt::unpack_bzimage(file);
    } catch (const previrt::InputError&) {
        return; // as it should be for damaged input
    }
}

// The input as the payload of a well-formed image; its last four bytes, brought into range, are the claimed
// size.
void unpack_as_payload(Bytes input) {
    constexpr std::uint32_t largest_claim = std::uint32_t{1} << 20U;
    if (input.size() < 4) {
        return;
    }
    std::vector<std::uint8_t> payload(input.begin(), input.end());
    std::uint32_t claim = 0;
    for (std::size_t index = payload.size(); index-- > payload.size() - 4;) {
        claim = claim << 8U | payload[index];
    }
    previrt::put_u32(payload, payload.size() - 4, claim % (largest_claim + 1));
    unpack(previrt::make_bzimage(payload));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    unpack({data, size});
    unpack_as_payload({data, size});
    return 0;
}
