// SPDX-License-Identifier: BSD-2-Clause
// The commands of all other queues, and the ends of their transfers.
#include "devices/nvme/nvme.hpp"

#include <array>
#include <cstring>

namespace previrt {

using namespace nvme;

namespace {

struct Range {
    std::uint32_t attributes;
    std::uint32_t blocks;
    std::uint64_t starting_lba;
};
static_assert(sizeof(Range) == 16);

constexpr std::uint32_t force_unit_access = 1U << 30U; // CDW12
constexpr std::uint32_t directive_type = 0xfU << 20U;

constexpr Status status_of(TransferEnd end) {
    switch (end) {
    case TransferEnd::done:
        return Status::success;
    case TransferEnd::read_error:
        return Status::unrecovered_read_error;
    case TransferEnd::write_error:
        return Status::write_fault;
    case TransferEnd::no_space:
        return Status::capacity_exceeded;
    case TransferEnd::refused:
        break;
    }
    return Status::internal_error;
}

constexpr bool is_write(SlotUse use) {
    return use == SlotUse::write || use == SlotUse::durable_write || use == SlotUse::write_zeroes ||
           use == SlotUse::discard;
}

Slot make_slot(const Command& command, std::uint32_t queue, SlotUse use, std::uint32_t amount) {
    return {.prp1 = command.prp1,
            .prp2 = command.prp2,
            .amount = amount,
            .command = command.identifier,
            .queue = static_cast<std::uint8_t>(queue),
            .use = use};
}

} // namespace

Nvme::Outcome Nvme::execute_io(const Surroundings& with, const Command& command, std::uint32_t queue) {
    if (command.flags != 0) { // fused, or with a scatter-gather list
        return failed(Status::invalid_field);
    }
    const auto opcode = static_cast<IoOpcode>(command.opcode);
    switch (opcode) {
    case IoOpcode::flush:
    case IoOpcode::write:
    case IoOpcode::read:
    case IoOpcode::write_zeroes:
        break;
    case IoOpcode::dataset_management:
        if (medium.discards) {
            break;
        }
        [[fallthrough]];
    default:
        return failed(Status::invalid_opcode);
    }
    const bool is_of_all = opcode == IoOpcode::flush && command.namespace_id == all_namespaces;
    if (command.namespace_id != only_namespace && !is_of_all) {
        return failed(Status::invalid_namespace);
    }
    switch (opcode) {
    case IoOpcode::flush:
        return flush(with, command, queue);
    case IoOpcode::write_zeroes:
        return write_zeroes(with, command, queue);
    case IoOpcode::dataset_management:
        return manage_dataset(command, queue);
    default:
        return read_or_write(with, command, queue);
    }
}

// For a command, the slot names its queue and the queues know of the command in flight.
Nvme::Outcome Nvme::submit(const Surroundings& with, const Transfer& transfer, const Slot& slot) {
    const std::optional<std::uint32_t> number = slots.find_free();
    Transfer numbered = transfer;
    numbered.token = number.value_or(0);
    if (!number || !with.port.submit(with.port.context, numbered)) {
        lacks_room = true;
        return {.course = Course::stays};
    }
    slots.put(*number, slot);
    if (slot.use != SlotUse::shutdown_flush) {
        ++submission[slot.queue].in_flight;
        ++completion[submission[slot.queue].completion_queue].reserved;
    }
    return {.course = Course::taken};
}

Nvme::Outcome Nvme::read_or_write(const Surroundings& with, const Command& command, std::uint32_t queue) {
    const bool writes = static_cast<IoOpcode>(command.opcode) == IoOpcode::write;
    const std::uint64_t bytes = std::uint64_t{command.blocks()} * medium.block_bytes;
    if (bytes > most_transfer_bytes || (writes && (command.cdw12() & directive_type) != 0)) {
        return failed(Status::invalid_field);
    }
    if (!is_in_range(command.starting_lba(), command.blocks())) {
        return failed(Status::lba_out_of_range);
    }
    if (writes && medium.is_read_only) {
        return failed(Status::namespace_is_write_protected);
    }
    const DataPointer data{
        .prp1 = command.prp1, .prp2 = command.prp2, .bytes = static_cast<std::uint32_t>(bytes)};
    std::span<const Piece> pieces;
    const Status status = data.find(
        with.memory, writes ? GuestMemory::Access::read : GuestMemory::Access::write, with.room, pieces);
    if (status != Status::success) {
        return failed(status);
    }
    const bool is_durable = writes && medium.keeps_writes &&
                            ((command.cdw12() & force_unit_access) != 0 || !features.caches_writes);
    const SlotUse use_of_write = is_durable ? SlotUse::durable_write : SlotUse::write;
    const SlotUse use = writes ? use_of_write : SlotUse::read;
    return submit(with,
                  {.token = 0,
                   .operation = writes ? Operation::write : Operation::read,
                   .is_durable = is_durable,
                   .offset = command.starting_lba() * medium.block_bytes,
                   .bytes = bytes,
                   .pieces = pieces},
                  make_slot(command, queue, use, static_cast<std::uint32_t>(bytes)));
}

Nvme::Outcome Nvme::write_zeroes(const Surroundings& with, const Command& command, std::uint32_t queue) {
    if (!is_in_range(command.starting_lba(), command.blocks())) {
        return failed(Status::lba_out_of_range);
    }
    if (medium.is_read_only) {
        return failed(Status::namespace_is_write_protected);
    }
    return submit(with,
                  {.token = 0,
                   .operation = Operation::write_zeroes,
                   .is_durable = medium.keeps_writes &&
                                 ((command.cdw12() & force_unit_access) != 0 || !features.caches_writes),
                   .offset = command.starting_lba() * medium.block_bytes,
                   .bytes = std::uint64_t{command.blocks()} * medium.block_bytes,
                   .pieces = {}},
                  make_slot(command, queue, SlotUse::write_zeroes, 0));
}

Nvme::Outcome Nvme::flush(const Surroundings& with, const Command& command, std::uint32_t queue) {
    if (!medium.keeps_writes) {
        return {};
    }
    return submit(with, flush_transfer, make_slot(command, queue, SlotUse::flush, writes_ended));
}

// Only deallocation has an effect: the other attributes are hints.
Nvme::Outcome Nvme::manage_dataset(const Command& command, std::uint32_t queue) {
    constexpr std::uint32_t deallocate = 4;
    if ((command.cdw11() & deallocate) == 0) {
        return {};
    }
    if (medium.is_read_only) {
        return failed(Status::namespace_is_write_protected);
    }
    const std::uint32_t count = (command.cdw10() & 0xffU) + 1;
    const std::optional<std::uint32_t> number = slots.find_free();
    if (!number) {
        return {.course = Course::stays};
    }
    slots.put(*number, make_slot(command, queue, SlotUse::discard_waits, Slot::ranges(0, count)));
    ++submission[queue].in_flight;
    ++completion[submission[queue].completion_queue].reserved;
    return {.course = Course::taken};
}

void Nvme::discard_ranges(const Surroundings& with) {
    for (std::uint32_t i = 0; i < Slots::count && slots.waiting != 0 && runs() && !lacks_room; ++i) {
        if (slots.slots[i].use == SlotUse::discard_waits) {
            discard_next(with, i);
        }
    }
}

// Submits the next range, or ends the command. Each is read anew: the driver may change it until then.
void Nvme::discard_next(const Surroundings& with, std::uint32_t number) {
    Slot slot = slots.slots[number];
    const DataPointer data{.prp1 = slot.prp1,
                           .prp2 = slot.prp2,
                           .bytes = slot.range_count() * static_cast<std::uint32_t>(sizeof(Range))};
    std::span<const Piece> pieces;
    const Status status = data.find(with.memory, GuestMemory::Access::read, with.room, pieces);
    if (status != Status::success) {
        finish_slot(with.memory, number, status);
        return;
    }
    for (std::uint32_t next = slot.next_range(); next < slot.range_count(); ++next) {
        std::array<std::uint8_t, sizeof(Range)> bytes{};
        copy_from_guest(with.memory, pieces, next * static_cast<std::uint32_t>(sizeof(Range)), bytes);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); // the compiler reads memory once that the guest may change
        Range range;
        std::memcpy(&range, bytes.data(), sizeof(range));
        if (!is_in_range(range.starting_lba, range.blocks)) {
            finish_slot(with.memory, number, Status::lba_out_of_range);
            return;
        }
        if (range.blocks == 0) {
            continue;
        }
        if (!with.port.submit(with.port.context, {.token = number,
                                                  .operation = Operation::discard,
                                                  .is_durable = false,
                                                  .offset = range.starting_lba * medium.block_bytes,
                                                  .bytes = std::uint64_t{range.blocks} * medium.block_bytes,
                                                  .pieces = {}})) {
            lacks_room = true;
            return;
        }
        slot.amount = Slot::ranges(next + 1, slot.range_count());
        slot.use = SlotUse::discard;
        slots.put(number, slot);
        return;
    }
    finish_slot(with.memory, number, Status::success);
}

void Nvme::finish_slot(const GuestMemory& memory, std::uint32_t number, Status status) {
    const Slot slot = slots.slots[number];
    slots.put(number, {});
    follow_queue(slot.queue);
    if (status != Status::success) {
        log.add_error({.namespace_id = only_namespace,
                       .submission_queue = slot.queue,
                       .command = slot.command,
                       .status = status_field(status)});
    }
    finish(memory, slot.queue, slot.command, {.status = status});
    if (submission[slot.queue].is_being_deleted) {
        finish_deletions(memory);
    }
}

void Nvme::count_end(const Slot& slot, bool is_done) {
    if (!is_done) {
        log.media_errors += slot.use == SlotUse::read || is_write(slot.use) ? 1 : 0;
        return;
    }
    switch (slot.use) {
    case SlotUse::read:
        ++log.reads;
        log.bytes_read += slot.amount;
        break;
    case SlotUse::write:
    case SlotUse::durable_write:
        ++log.writes;
        log.bytes_written += slot.amount;
        break;
    case SlotUse::flush:
    case SlotUse::shutdown_flush:
        writes_flushed = slot.amount;
        break;
    default:
        break;
    }
}

bool Nvme::complete(const GuestMemory& memory, PieceRoom room, std::uint32_t token, TransferEnd end) {
    if (token >= Slots::count || !slots.slots[token].is_transfer()) {
        return false;
    }
    Slot slot = slots.slots[token];
    if (slot.use == SlotUse::read) {
        // The medium has written this memory by itself.
        std::span<const Piece> pieces;
        (void)DataPointer{.prp1 = slot.prp1, .prp2 = slot.prp2, .bytes = slot.amount}.find(
            memory, GuestMemory::Access::write, room, pieces);
    }
    writes_ended += is_write(slot.use) ? 1 : 0;
    count_end(slot, end == TransferEnd::done);
    is_notified = true;
    if (!is_enabled_) {
        slots.put(token, {});
        if (transfers() == 0) {
            end_reset();
        }
    } else if (slot.use == SlotUse::shutdown_flush) {
        slots.put(token, {});
        shutdown = Shutdown::complete;
    } else if (slot.use == SlotUse::discard && end == TransferEnd::done) {
        slot.use = SlotUse::discard_waits;
        slots.put(token, slot);
    } else if (is_fatal) {
        slots.put(token, {});
    } else {
        finish_slot(memory, token, status_of(end));
    }
    return true;
}

} // namespace previrt
