// SPDX-License-Identifier: BSD-2-Clause
// A minimal back-end (docs/add-a-backend.md): the guest executes in a child process, and the VMM is this
// program, which traces it.
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "host/input_error.hpp"
#include "tests/backends/ptrace/address_space.hpp"
#include "tests/backends/ptrace/child.hpp"
#include "tests/backends/ptrace/entries.hpp"
#include "tests/backends/ptrace/events.hpp"
#include "tests/backends/ptrace/memory.hpp"
#include "tests/backends/ptrace/time.hpp"
#include "toolchain/pack/guest_kernel.hpp"
#include "toolchain/pack/guest_package.hpp"

#include <iostream>
#include <list>
#include <string>
#include <vector>

using namespace previrt;

namespace {

constexpr std::uint64_t memory_bytes = std::uint64_t{64} << 20U;

std::vector<std::uint8_t> pack(const std::string& path) {
    const GuestKernel kernel = load_guest_kernel(path, memory_bytes);
    return make_guest_package(kernel, {.initrd = {}, .append = {}, .memory = memory_bytes});
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    static std::list<std::vector<std::uint8_t>> taken;
    return taken.emplace_back(bytes).data();
}

} // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::cerr << "usage: previrt-ptrace KERNEL\n";
        return 2;
    }
    try {
        const std::vector<std::uint8_t> package = pack(words[1]);
        traced::start_memory(memory_bytes);
        traced::start_child();
        traced::start_time();
        traced::start_events();
        traced::start_page_tables();
        start_shadow_tables(take_memory);
        load_guest(package);
        traced::run_guest();
    } catch (const InputError& error) {
        std::cerr << "previrt-ptrace: " << error.what() << '\n';
        return 2;
    }
}
