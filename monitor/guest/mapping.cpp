// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/mapping.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <string>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t page = 4096;
constexpr std::uintptr_t large_page = 2 * mib;

void check_host_memory(std::uint64_t bytes) {
    struct sysinfo host{};
    if (sysinfo(&host) != 0) {
        return;
    }
    const std::uint64_t there = (std::uint64_t{host.totalram} + host.totalswap) * host.mem_unit;
    if (bytes > there) {
        throw InputError("--memory: the guest and its VMM take " + std::to_string(bytes / mib) +
                         " MiB, this machine has " + std::to_string(there / mib) + ": give it less");
    }
}

} // namespace

Mapping Mapping::of_guest(std::uint64_t bytes) {
    return of_guest(bytes, -1);
}

Mapping Mapping::of_guest(std::uint64_t bytes, const Descriptor& shared) {
    if (ftruncate(shared.number(), static_cast<off_t>(bytes)) != 0) {
        throw InputError("--memory: " + std::generic_category().message(errno));
    }
    return of_guest(bytes, shared.number());
}

// `file`: -1: none.
Mapping Mapping::of_guest(std::uint64_t bytes, int file) {
    check_host_memory(bytes);
    const std::size_t room = bytes + large_page;
    void* const address =
        mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        throw InputError("--memory: no " + std::to_string(bytes / mib) +
                         " MiB for the guest and its VMM: " + std::generic_category().message(errno) +
                         ": give it less, or raise the limit (ulimit -v)");
    }
    auto* const begin = static_cast<std::uint8_t*>(address);
    const std::size_t before =
        (large_page - (reinterpret_cast<std::uintptr_t>(begin) % large_page)) % large_page;
    if (before != 0) {
        munmap(begin, before);
    }
    munmap(begin + before + bytes, room - before - bytes);
    if (file >= 0 && mmap(begin + before, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED) {
        throw InputError("mmap: " + std::generic_category().message(errno));
    }
    return {begin + before, bytes};
}

Mapping Mapping::of_zeros(std::size_t bytes) {
    void* const address =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        throw InputError("mmap: " + std::generic_category().message(errno));
    }
    return {address, bytes};
}

Mapping Mapping::of_descriptor(const Descriptor& descriptor, std::size_t bytes) {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number(), 0);
    if (address == MAP_FAILED) {
        throw InputError("mmap: " + std::generic_category().message(errno));
    }
    return {address, bytes};
}

bool release_pages(std::span<std::uint8_t> memory, std::uint64_t first, std::uint64_t count,
                   Backing backing) {
    const std::uint64_t pages = memory.size() / page;
    return first <= pages && count <= pages - first &&
           madvise(memory.data() + (first * page), count * page,
                   backing == Backing::shared ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping::~Mapping() {
    if (!bytes_.empty()) {
        munmap(bytes_.data(), bytes_.size());
    }
}

} // namespace previrt
