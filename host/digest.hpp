// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <nettle/sha2.h>
#include <span>
#include <string>
#include <string_view>

namespace previrt {

// SHA-256 of a series of texts, each with its length in front.
class Digest {
public:
    Digest();

    Digest& add(std::string_view text);
    [[nodiscard]] std::string hex() const;

private:
    sha256_ctx state_;
};

// As sha256sum prints it.
std::string sha256_of(std::span<const std::uint8_t> bytes);
// Throws InputError.
std::string sha256_of_file(const std::string& path);

} // namespace previrt
