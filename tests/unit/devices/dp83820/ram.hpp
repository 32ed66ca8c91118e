// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace previrt {

// A guest's RAM, at `base` and nowhere else.
class Ram {
public:
    explicit Ram(std::uint64_t bytes, std::uint64_t first_address = 0)
        : base(first_address), words(bytes / 8) {}

    [[nodiscard]] std::uint64_t bytes() const { return words.size() * 8; }
    [[nodiscard]] std::uint64_t end() const { return base + bytes(); }
    [[nodiscard]] GuestMemory memory() { return {.reach = reach, .context = this}; }

    std::uint8_t* at(std::uint64_t address, std::uint64_t length) {
        const std::uint64_t offset = address - base;
        if (address < base || offset > bytes() || length > bytes() - offset) {
            return nullptr;
        }
        return reinterpret_cast<std::uint8_t*>(words.data()) + offset;
    }

    template <typename Value>
    Value load(std::uint64_t address) {
        Value value;
        std::memcpy(&value, at(address, sizeof(value)), sizeof(value));
        return value;
    }
    template <typename Value>
    void store(std::uint64_t address, Value value) {
        std::memcpy(at(address, sizeof(value)), &value, sizeof(value));
    }

private:
    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t length,
                               GuestMemory::Access /*access*/) {
        return static_cast<Ram*>(context)->at(address, length);
    }

    std::uint64_t base;
    std::vector<std::uint64_t> words;
};

} // namespace previrt
