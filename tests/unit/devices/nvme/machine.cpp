// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/nvme/machine.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

using namespace nvme;

NvmeMachine::NvmeMachine(const Medium& medium) : disk(medium.bytes) {
    nvme.start(medium);
}

void NvmeMachine::set(std::uint32_t offset, std::uint32_t value) {
    refused += nvme.write(offset, 4, value) ? 0 : 1;
}

std::uint32_t NvmeMachine::get(std::uint32_t offset) {
    const std::optional<std::uint64_t> value = nvme.read(offset, 4);
    refused += value ? 0 : 1;
    return static_cast<std::uint32_t>(value.value_or(0));
}

void NvmeMachine::set_pair(std::uint32_t offset, std::uint64_t value) {
    set(offset, static_cast<std::uint32_t>(value));
    set(offset + 4, static_cast<std::uint32_t>(value >> 32U));
}

// Each pair has 256 KiB.
NvmeMachine::Pair NvmeMachine::place_of(std::uint32_t queue, std::uint16_t entries) {
    const std::uint64_t first = 0x10'0000 + (queue * std::uint64_t{0x4'0000});
    return {.submission = first, .completion = first + 0x2'0000, .entries = entries};
}

void NvmeMachine::set_admin_queues(std::uint16_t entries) {
    pairs[0] = place_of(0, entries);
    set(at::aqa, (entries - 1U) | ((entries - 1U) << 16U));
    set_pair(at::asq, pairs[0].submission);
    set_pair(at::acq, pairs[0].completion);
    std::memset(ram.at(pairs[0].completion, entries * sizeof(Completion)), 0, entries * sizeof(Completion));
}

void NvmeMachine::enable(std::uint16_t entries) {
    set_admin_queues(entries);
    set(at::cc, cc_of_drivers);
}

std::uint16_t NvmeMachine::put(std::uint32_t queue, Command command) {
    Pair& pair = pairs[queue];
    command.identifier = next_identifier++;
    ram.store(pair.submission + (pair.tail * sizeof(Command)), command);
    pair.tail = static_cast<std::uint16_t>((pair.tail + 1U) % pair.entries);
    return command.identifier;
}

std::optional<Completion> NvmeMachine::look(std::uint32_t queue) {
    const Pair& pair = pairs[queue];
    const auto found = ram.load<Completion>(pair.completion + (pair.head * sizeof(Completion)));
    const bool phase = ((found.identifier_and_status >> 16U) & 1U) != 0;
    return phase == pair.phase ? std::optional(found) : std::nullopt;
}

std::optional<Completion> NvmeMachine::take(std::uint32_t queue) {
    const std::optional<Completion> found = look(queue);
    if (found) {
        Pair& pair = pairs[queue];
        pair.head = static_cast<std::uint16_t>((pair.head + 1U) % pair.entries);
        pair.phase = pair.head == 0 ? !pair.phase : pair.phase;
        set(doorbell(queue, true), pair.head);
    }
    return found;
}

std::uint8_t* NvmeMachine::reach(void* context, std::uint64_t address, std::uint64_t bytes,
                                 GuestMemory::Access access) {
    NvmeMachine& self = *static_cast<NvmeMachine*>(context);
    std::uint8_t* const place = self.ram.at(address, bytes);
    if (place != nullptr && access == GuestMemory::Access::write) {
        for (std::uint64_t at = address & ~(page - 1); at < address + bytes; at += page) {
            self.written.push_back(at);
        }
    }
    return place;
}

void NvmeMachine::check_transfer(const Transfer& transfer) {
    std::uint64_t bytes = 0;
    for (const Piece& piece : transfer.pieces) {
        EXPECT_NE(piece.bytes, 0U);
        EXPECT_NE(ram.at(piece.address, piece.bytes), nullptr);
        bytes += piece.bytes;
    }
    const bool has_data = transfer.operation == Operation::read || transfer.operation == Operation::write;
    EXPECT_EQ(bytes, has_data ? transfer.bytes : 0);
    EXPECT_LE(bytes, most_transfer_bytes);
    EXPECT_LE(transfer.offset, disk.size());
    EXPECT_LE(transfer.bytes, disk.size() - transfer.offset);
}

bool NvmeMachine::submit(void* context, const Transfer& transfer) {
    NvmeMachine& self = *static_cast<NvmeMachine*>(context);
    if (self.work.size() >= self.room) {
        return false;
    }
    self.check_transfer(transfer);
    self.work.push_back({.transfer = transfer, .pieces = {transfer.pieces.begin(), transfer.pieces.end()}});
    return true;
}

void NvmeMachine::serve() {
    nvme.serve({.reach = reach, .context = this}, pieces_, {.submit = submit, .context = this});
}

void NvmeMachine::execute(std::size_t place) {
    const Work& what = work.at(place);
    std::uint64_t at = what.transfer.offset;
    for (const Piece& piece : what.pieces) {
        std::uint8_t* const memory = ram.at(piece.address, piece.bytes);
        if (what.transfer.operation == Operation::read) {
            std::memcpy(memory, disk.data() + at, piece.bytes);
        } else {
            std::memcpy(disk.data() + at, memory, piece.bytes);
        }
        at += piece.bytes;
    }
    if (what.transfer.operation == Operation::write_zeroes || what.transfer.operation == Operation::discard) {
        std::memset(disk.data() + what.transfer.offset, 0, what.transfer.bytes);
    }
}

bool NvmeMachine::end(std::size_t place, TransferEnd how) {
    const auto which = work.begin() + static_cast<std::ptrdiff_t>(place);
    done.push_back(*which);
    work.erase(which);
    return nvme.complete({.reach = reach, .context = this}, pieces_, done.back().transfer.token, how);
}

void NvmeMachine::settle() {
    do {
        while (!holds_work && !work.empty()) {
            execute();
            EXPECT_TRUE(end());
        }
        serve();
    } while ((!holds_work && !work.empty()) || (nvme.is_notified && !nvme.lacks_room));
}

NvmeMachine::Result NvmeMachine::run(std::uint32_t queue, const Command& command) {
    const std::uint16_t identifier = put(queue, command);
    ring(queue);
    settle();
    const std::optional<Completion> completion = take(queue);
    if (!completion) {
        return {.status = 0x3fff, .value = 0};
    }
    EXPECT_EQ(completion->identifier_and_status & 0xffffU, identifier);
    EXPECT_EQ(completion->submission_queue, queue);
    EXPECT_EQ(completion->submission_head, pairs[queue].tail);
    return result_of(*completion);
}

Command NvmeMachine::command(AdminOpcode opcode, std::uint32_t cdw10, std::uint32_t cdw11) {
    Command made{};
    made.opcode = static_cast<std::uint8_t>(opcode);
    made.words[0] = cdw10;
    made.words[1] = cdw11;
    return made;
}

Command NvmeMachine::command(IoOpcode opcode, std::uint64_t lba, std::uint32_t blocks) {
    Command made{};
    made.opcode = static_cast<std::uint8_t>(opcode);
    made.namespace_id = 1;
    made.words[0] = static_cast<std::uint32_t>(lba);
    made.words[1] = static_cast<std::uint32_t>(lba >> 32U);
    made.words[2] = blocks - 1;
    return made;
}

void NvmeMachine::give_memory(Command& command, std::uint64_t address, std::uint32_t bytes,
                              std::uint64_t list) {
    command.prp1 = address;
    command.prp2 = 0;
    const std::uint64_t second = (address & ~(page - 1)) + page;
    if (address + bytes <= second) {
        return;
    }
    if (address + bytes <= second + page) {
        command.prp2 = second;
        return;
    }
    command.prp2 = list;
    for (std::uint64_t at = second; at < address + bytes; at += page) {
        const bool is_last_entry = list % page == page - 8;
        if (is_last_entry && at + page < address + bytes) {
            ram.store(list, list + 8); // lists follow each other
            list += 8;
        }
        ram.store(list, at);
        list += 8;
    }
}

NvmeMachine::Result NvmeMachine::create_completion_queue(std::uint32_t queue, std::uint16_t entries) {
    const Pair place = place_of(queue, entries);
    std::memset(ram.at(place.completion, entries * sizeof(Completion)), 0, entries * sizeof(Completion));
    Command create = command(AdminOpcode::create_completion_queue, queue | ((entries - 1U) << 16U), 3);
    create.prp1 = place.completion;
    return run(0, create);
}

NvmeMachine::Result NvmeMachine::create_submission_queue(std::uint32_t queue, std::uint16_t entries,
                                                         std::uint32_t to) {
    Command create =
        command(AdminOpcode::create_submission_queue, queue | ((entries - 1U) << 16U), 1 | (to << 16U));
    create.prp1 = place_of(queue, entries).submission;
    return run(0, create);
}

void NvmeMachine::create_pair(std::uint32_t queue, std::uint16_t entries) {
    EXPECT_EQ(create_completion_queue(queue, entries).status, 0);
    EXPECT_EQ(create_submission_queue(queue, entries, queue).status, 0);
    pairs[queue] = place_of(queue, entries);
}

NvmeMachine::Result NvmeMachine::read(std::uint64_t lba, std::uint32_t blocks, std::uint64_t address) {
    Command made = command(IoOpcode::read, lba, blocks);
    give_memory(made, address, blocks * nvme.medium.block_bytes);
    return run(1, made);
}

NvmeMachine::Result NvmeMachine::write(std::uint64_t lba, std::uint32_t blocks, std::uint64_t address) {
    Command made = command(IoOpcode::write, lba, blocks);
    give_memory(made, address, blocks * nvme.medium.block_bytes);
    return run(1, made);
}

void NvmeMachine::fill(std::uint64_t address, std::uint64_t bytes, std::uint8_t first) {
    std::uint8_t* const place = ram.at(address, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) {
        place[i] = pattern(first, i);
    }
}

bool NvmeMachine::holds(std::uint64_t address, std::uint64_t bytes, std::uint8_t first) {
    const std::uint8_t* const place = ram.at(address, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (place[i] != pattern(first, i)) {
            return false;
        }
    }
    return true;
}

} // namespace previrt
