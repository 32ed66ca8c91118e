// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "backends/kvm/deprivileged/user_calls.hpp"
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"

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
    start_shadow_tables(take_memory);
    start_user_calls();
    start_processors();
    load_guest(package());
    drop_package();
    start_own_events();
    enter_guest();
}
}

} // namespace previrt::kvm
