// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/monitor_link/clock.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/table_uses.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/process.hpp"
#include "backends/process/user_mode/vectors.hpp"
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"

namespace previrt::process {

extern "C" {
[[noreturn]] void enter_guest();
[[noreturn]] void process_start();

void process_start() {
    start_domain();
    start_processors();
    start_user_processes();
    start_entries();
    start_hosts();
    name_first_process();
    confine();
    monitored::start_clock(handover.clock);
    start_local_table();
    start_table_uses();
    if (isolates()) {
        start_user_vectors();
    }
    start_user_calls();
    start_shadow_tables(take_memory);
    load_guest(package());
    drop_package();
    enter_guest();
}
}

} // namespace previrt::process
