// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/memory.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "tests/backends/ptrace/memory.hpp"

#include <list>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace previrt::traced {

int memory_file;

namespace {

std::span<std::uint8_t> ram;

} // namespace

void start_memory(std::uint64_t bytes) {
    memory_file = memfd_create("guest", MFD_CLOEXEC);
    if (memory_file < 0 || ftruncate(memory_file, static_cast<off_t>(bytes)) != 0) {
        stop_guest("the host has no file for the guest's memory; bytes:", bytes);
    }
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
    if (place == MAP_FAILED) {
        stop_guest("the host does not map the guest's memory; bytes:", bytes);
    }
    ram = {static_cast<std::uint8_t*>(place), bytes};
}

} // namespace previrt::traced

namespace previrt::backend {

std::uint8_t* guest_ram() {
    return traced::ram.data();
}

std::uint64_t guest_ram_bytes() {
    return traced::ram.size();
}

void prepare_write(std::uint64_t /*guest_frame*/) {} // RAM is always writable here

bool can_release_memory() {
    return true;
}

void release_memory(std::uint64_t first_frame, std::uint64_t count) {
    const std::span<std::uint8_t> released =
        traced::ram.subspan(first_frame * page_bytes, count * page_bytes);
    if (madvise(released.data(), released.size(), MADV_REMOVE) != 0) {
        stop_guest("the host does not take memory back, at page", first_frame);
    }
}

std::span<KnownSite> memory_for_sites(std::size_t least) {
    static std::list<std::vector<KnownSite>> lists;
    return lists.emplace_back(least);
}

} // namespace previrt::backend
