// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/host/digest.hpp"

#include "toolchain/image/file.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

namespace previrt {

Digest::Digest() : state_(std::make_unique<llvm::SHA256>()) {}
Digest::~Digest() = default;

Digest& Digest::add(std::string_view text) {
    state_->update(std::to_string(text.size()) + ":");
    state_->update(llvm::StringRef(text));
    return *this;
}

std::string Digest::hex() const {
    return llvm::toHex(state_->result(), true);
}

std::string sha256_of(std::span<const std::uint8_t> bytes) {
    return llvm::toHex(llvm::SHA256::hash(llvm::ArrayRef(bytes.data(), bytes.size())), true);
}

std::string sha256_of_file(const std::string& path) {
    return sha256_of(read_file(path));
}

} // namespace previrt
