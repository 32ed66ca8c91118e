// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/layout.hpp"

#include "backends/common/contract/packet_ring.hpp"
#include "backends/common/contract/table_pool.hpp"
#include "backends/process/contract/layout.hpp"
#include "backends/process/contract/user_state.hpp"
#include "host/input_error.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/folder/guest_folders.hpp"

namespace previrt {

namespace {

using namespace process;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

} // namespace

Handover lay_out_process(std::uint64_t guest_memory, std::uint64_t package_bytes, std::uint64_t filter_bytes,
                         bool isolates, unsigned processors) {
    if (guest_memory > most_ram) {
        throw InputError("--memory: in a process a guest has 256 GiB at most");
    }
    Handover handover{};
    std::uint64_t end = image_room;
    const auto take = [&](std::uint64_t bytes) {
        const Part part{.offset = end, .bytes = bytes};
        end += round_up(bytes, page_size);
        return part;
    };
    handover.guest_memory = guest_memory / page_size * page_size;
    handover.output = take(sizeof(ConsoleRing));
    handover.input = take(sizeof(ConsoleRing));
    handover.network.sent = take(sizeof(monitored::PacketRing));
    handover.network.received = take(sizeof(monitored::PacketRing));
    take_disk_rings(handover.disks, take);
    handover.vsock.sent = take(sizeof(monitored::PacketRing));
    handover.vsock.received = take(sizeof(monitored::PacketRing));
    handover.console_ports.sent = take(sizeof(monitored::PacketRing));
    handover.console_ports.received = take(sizeof(monitored::PacketRing));
    take_folder_links(handover.folders, take);
    handover.filter = take(filter_bytes);
    handover.isolates_user_mode = isolates ? 1 : 0;
    handover.users = take(isolates ? user_parts_bytes : 0);
    handover.package = take(package_bytes);
    handover.processors = processors;
    handover.free = take(round_up(table_pool::arena_bytes(guest_memory / page_size), page_size) +
                         (processors * most_processor_bytes));
    handover.vmm_bytes = round_up(end, large_page_size);
    return handover;
}

std::uint64_t file_bytes(const Handover& handover) {
    return handover.vmm_bytes + handover.guest_memory;
}

std::uint64_t most_address_space(const Handover& handover) {
    constexpr std::uint64_t addresses_of_a_page = 4;
    return handover.vmm_bytes + (addresses_of_a_page * handover.guest_memory) + gib;
}

} // namespace previrt
