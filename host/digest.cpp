// SPDX-License-Identifier: BSD-2-Clause
#include "host/digest.hpp"

#include "host/file.hpp"

#include <array>

namespace previrt {

namespace {

void update(sha256_ctx& state, std::span<const std::uint8_t> bytes) {
    nettle_sha256_update(&state, bytes.size(), bytes.data());
}

void update(sha256_ctx& state, std::string_view text) {
    update(state, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Resets the state.
std::string finish(sha256_ctx& state) {
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> bytes;
    nettle_sha256_digest(&state, bytes.size(), bytes.data());
    std::string text;
    for (const std::uint8_t byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        constexpr unsigned digit_bits = 4;
        constexpr unsigned digit_mask = 0xf;
        text += digits[byte >> digit_bits];
        text += digits[byte & digit_mask];
    }
    return text;
}

} // namespace

Digest::Digest() {
    nettle_sha256_init(&state_);
}

Digest& Digest::add(std::string_view text) {
    update(state_, std::to_string(text.size()) + ":");
    update(state_, text);
    return *this;
}

std::string Digest::hex() const {
    sha256_ctx state = state_;
    return finish(state);
}

std::string sha256_of(std::span<const std::uint8_t> bytes) {
    sha256_ctx state;
    nettle_sha256_init(&state);
    update(state, bytes);
    return finish(state);
}

std::string sha256_of_file(const std::string& path) {
    return sha256_of(read_file(path));
}

} // namespace previrt
