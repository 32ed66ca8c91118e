// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/disks.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/disks.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <array>

namespace previrt {

static_assert(Pc::most_disks == backend::most_disks);
static_assert(nvme::most_transfer_bytes == backend::most_request_bytes);
static_assert(nvme::most_pieces == backend::most_request_pieces);

namespace {

// Of the command at hand: too large for the stack.
[[gnu::section(".bss.cache")]] std::array<nvme::Piece, nvme::most_pieces> found_pieces;
[[gnu::section(".bss.cache")]] std::array<backend::DiskPiece, nvme::most_pieces> request_pieces;

backend::DiskOperation operation_of(nvme::Operation operation) {
    switch (operation) {
    case nvme::Operation::read:
        return backend::DiskOperation::read;
    case nvme::Operation::write:
        return backend::DiskOperation::write;
    case nvme::Operation::flush:
        return backend::DiskOperation::flush;
    case nvme::Operation::write_zeroes:
        return backend::DiskOperation::write_zeroes;
    case nvme::Operation::discard:
        break;
    }
    return backend::DiskOperation::discard;
}

nvme::TransferEnd end_of(backend::DiskResult result) {
    switch (result) {
    case backend::DiskResult::done:
        return nvme::TransferEnd::done;
    case backend::DiskResult::read_error:
        return nvme::TransferEnd::read_error;
    case backend::DiskResult::write_error:
        return nvme::TransferEnd::write_error;
    case backend::DiskResult::no_space:
        return nvme::TransferEnd::no_space;
    case backend::DiskResult::refused:
        break;
    }
    return nvme::TransferEnd::refused;
}

// While the processor has work, the doorbell waits for further requests: to wake the disk's thread, and to be
// interrupted by it, costs as much for one request as for many. A thread that is awake sees each at once. The
// timer for it costs some more than a doorbell. So if a wait has gathered too few, the next doorbells ring at
// once, twice as many each time. Only a wait shows how many requests the guest has: where the host answers at
// once, many look like one at a time.
constexpr std::uint64_t longest_wait = 200'000;
constexpr unsigned most_requests = 32;
constexpr unsigned least_requests = 4;
constexpr unsigned least_pause = 4; // doorbells
constexpr unsigned longest_pause = 64;

// Not part of the machine's state, but of the back-end's rings.
struct Doorbell {
    std::optional<std::uint64_t> due; // it waits, and rings at this time at the latest
    unsigned requests;                // since it rang
    unsigned pause;                   // behind the last wait
    unsigned left_of_pause;
};
[[gnu::section(".bss.cache")]] constinit Doorbell doorbell{};

// One call of serve_disks() for one disk.
struct Service {
    std::uint32_t disk;

    static bool submit(void* context, const nvme::Transfer& transfer) {
        const Service& self = *static_cast<const Service*>(context);
        std::ranges::transform(transfer.pieces, request_pieces.begin(), [](const nvme::Piece& piece) {
            return backend::DiskPiece{.address = piece.address, .bytes = piece.bytes};
        });
        const bool is_taken =
            backend::submit(self.disk, {.token = transfer.token,
                                        .operation = operation_of(transfer.operation),
                                        .is_durable = transfer.is_durable,
                                        .offset = transfer.offset,
                                        .bytes = transfer.bytes,
                                        .pieces = std::span(request_pieces).first(transfer.pieces.size())});
        counters.disk_requests += is_taken ? 1 : 0;
        doorbell.requests += is_taken ? 1 : 0;
        return is_taken;
    }

    // A driver that does not let the controller master the bus gets no completions, but can reset it. False:
    // there are none, and an event comes with the next.
    [[nodiscard]] bool take_completions(Nvme& controller, bool masters_bus) const {
        bool took = false;
        while (controller.transfers() != 0 && (masters_bus || controller.is_being_reset())) {
            const std::optional<backend::DiskCompletion> completion = backend::next_completion(disk);
            if (!completion) {
                break;
            }
            took = true;
            if (completion->token >= nvme::Slots::count ||
                !controller.complete(dma_memory, found_pieces, static_cast<std::uint32_t>(completion->token),
                                     end_of(completion->result))) {
                stop_guest("the host has completed a request of a disk that nobody has made:",
                           completion->token);
            }
        }
        return took;
    }

    void serve() {
        Nvme& controller = pc.disks[disk];
        const bool masters_bus = pc.disk_masters_bus(disk);
        bool has_room = true;
        while ((take_completions(controller, masters_bus) || has_room) && masters_bus &&
               controller.is_notified) {
            controller.serve(dma_memory, found_pieces, {.submit = submit, .context = this});
            has_room = !controller.lacks_room;
        }
    }
};

// A driver that waits for a reset has nothing else to do, and commands may wait for room in the ring.
bool some_disk_is_urgent() {
    for (std::uint32_t i = 0; i < pc.disk_count; ++i) {
        if (pc.disks[i].is_awaited() || pc.disks[i].lacks_room) {
            return true;
        }
    }
    return false;
}

bool may_wait() {
    if (pc.processor_rests() || doorbell.requests >= most_requests || some_disk_is_urgent()) {
        return false;
    }
    if (!doorbell.due && doorbell.left_of_pause != 0) {
        --doorbell.left_of_pause;
        return false;
    }
    const std::uint64_t now = backend::now();
    if (!doorbell.due) {
        doorbell.due = now + longest_wait;
    }
    return now < *doorbell.due;
}

void judge_wait() {
    const bool gathered = doorbell.requests >= least_requests;
    doorbell.pause = gathered ? 0 : std::clamp(2 * doorbell.pause, least_pause, longest_pause);
    doorbell.left_of_pause = doorbell.pause;
}

void ring_or_wait() {
    if (backend::disks_wait()) {
        if (may_wait()) {
            return;
        }
        backend::notify_disks();
        if (doorbell.due) {
            judge_wait();
        }
    }
    doorbell.due.reset();
    doorbell.requests = 0;
}

} // namespace

void insert_disks() {
    const unsigned count = backend::disk_count();
    if (count != 0 && backend::guest_ram_bytes() > Pc::disk_memory) {
        stop_guest("the registers of the disks would lie in the RAM of this guest, at", Pc::disk_memory);
    }
    for (unsigned i = 0; i < count; ++i) {
        const backend::Disk disk = backend::disk(i);
        pc.insert_disk({.bytes = disk.bytes,
                        .block_bytes = disk.block_bytes,
                        .number = i,
                        .is_read_only = disk.is_read_only,
                        .keeps_writes = disk.keeps_writes,
                        .discards = disk.discards});
    }
}

void serve_disks() {
    if (pc.disk_count == 0) {
        return;
    }
    for (std::uint32_t i = 0; i < pc.disk_count; ++i) {
        Service{.disk = i}.serve();
    }
    ring_or_wait();
    pc.update_disk_line();
}

std::optional<std::uint64_t> disks_due() {
    return doorbell.due;
}

} // namespace previrt
