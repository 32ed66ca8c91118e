// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/user_calls.hpp"
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

namespace previrt::kvm {

extern "C" {
[[noreturn]] void enter_guest();
[[noreturn]] void kvm_start();

void kvm_start() {
    start_domain();
    start_isolation();
    start_entries();
    start_segments();
    start_events();
    const std::uint64_t book_keeping =
        shadow_memory_bytes(backend::guest_ram_bytes() >> page_shift, backend::table_count());
    start_shadow_tables({.bytes = take_memory(book_keeping), .size = book_keeping});
    start_user_calls();
    load_guest(package());
    start_looking();
    enter_guest();
}
}

} // namespace previrt::kvm
