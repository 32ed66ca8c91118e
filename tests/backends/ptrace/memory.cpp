// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/memory.hpp"
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

std::span<KnownSite> memory_for_sites(std::size_t least) {
    static std::list<std::vector<KnownSite>> lists;
    return lists.emplace_back(least);
}

} // namespace previrt::backend
