// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace llvm {
class SHA256;
}

namespace previrt {

// SHA-256 of a series of texts; each is set apart from the next by its length.
class Digest {
public:
    Digest();
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    Digest& add(std::string_view text);
    [[nodiscard]] std::string hex() const;

private:
    std::unique_ptr<llvm::SHA256> state_;
};

// What sha256sum prints.
std::string sha256_of(std::span<const std::uint8_t> bytes);
// Throws InputError.
std::string sha256_of_file(const std::string& path);

} // namespace previrt
