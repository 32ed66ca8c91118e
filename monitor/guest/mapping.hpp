// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {

// Owns mapped memory.
class Mapping {
public:
    // A guest's memory: zeros that take no room until they are touched, at a multiple of 2 MiB. Throws
    // InputError if this machine has not enough.
    static Mapping of_guest(std::uint64_t bytes);
    // The same, which other processes can map by this descriptor.
    static Mapping of_guest(std::uint64_t bytes, const Descriptor& shared);
    // Zeros that take no room until they are touched. Throws InputError.
    static Mapping of_zeros(std::size_t bytes);
    // Shared memory of a descriptor. Throws InputError.
    static Mapping of_descriptor(const Descriptor& descriptor, std::size_t bytes);

    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&&) = delete;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }

private:
    Mapping(void* address, std::size_t bytes) : bytes_(static_cast<std::uint8_t*>(address), bytes) {}
    static Mapping of_guest(std::uint64_t bytes, int file);

    std::span<std::uint8_t> bytes_;
};

// Memory that is this process's alone, or of a file that others map.
enum class Backing : std::uint8_t { own, shared };

// Gives pages of a guest's memory back to this machine: they read as zeros from then on. False: some of them
// are not there, or this machine does not take them.
[[nodiscard]] bool release_pages(std::span<std::uint8_t> memory, std::uint64_t first, std::uint64_t count,
                                 Backing backing = Backing::own);

} // namespace previrt
