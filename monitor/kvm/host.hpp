// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A request to KVM. Throws InputError with the request's name if it fails.
int kvm_request(const Descriptor& descriptor, unsigned long request, const char* name,
                std::uintptr_t argument = 0);
template <typename Structure>
int kvm_request(const Descriptor& descriptor, unsigned long request, const char* name, Structure* argument) {
    return kvm_request(descriptor, request, name, reinterpret_cast<std::uintptr_t>(argument));
}

// Adds memory of this process to a virtual machine.
void add_kvm_memory(const Descriptor& machine, std::uint32_t slot, std::uint64_t physical,
                    std::span<std::uint8_t> bytes);

// A structure of KVM's that ends with an array, with room for some entries; all zero.
template <typename Structure>
class KvmList {
public:
    explicit KvmList(std::size_t entries) : KvmList(entries, sizeof(Structure::entries[0])) {}
    KvmList(std::size_t entries, std::size_t entry_bytes)
        : room_(((sizeof(Structure) + (entries * entry_bytes)) / sizeof(std::uint64_t)) + 1) {}

    [[nodiscard]] Structure* get() { return reinterpret_cast<Structure*>(room_.data()); }
    Structure* operator->() { return get(); }

private:
    std::vector<std::uint64_t> room_;
};

// Opens the host's KVM. Throws InputError, with the remedy, if it is missing or lacks something.
Descriptor open_kvm(const std::string& path = "/dev/kvm");

// Answers as ioctl does.
using KvmQuestion = std::function<int(unsigned long request, int argument)>;
// Throws InputError if this is not a KVM that the monitor can use. `path`: for messages.
void check_kvm(const std::string& path, const KvmQuestion& ask);

// Explains the error of opening it.
std::string kvm_open_failure(const std::string& path, int error);

} // namespace previrt
