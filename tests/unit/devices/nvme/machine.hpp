// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/nvme.hpp"
#include "devices/nvme/registers.hpp"
#include "tests/unit/devices/dp83820/ram.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace previrt {

// A controller, RAM, a disk, and the steps of a driver that keeps the rules.
class NvmeMachine {
public:
    static constexpr std::uint64_t page = 4096;
    static constexpr std::uint64_t ram_bytes = std::uint64_t{16} << 20U;
    static constexpr std::uint64_t disk_bytes = std::uint64_t{8} << 20U;
    static constexpr std::uint64_t data = std::uint64_t{8} << 20U; // the driver's buffers
    static constexpr std::uint64_t lists = 0x1000;                 // of pages
    static constexpr std::uint16_t admin_entries = 32;

    // What the medium has been given.
    struct Work {
        nvme::Transfer transfer;
        std::vector<nvme::Piece> pieces;
    };
    struct Result {
        std::uint16_t status; // the status field, without the phase tag; 0x3fff: there is no completion
        std::uint32_t value;
        [[nodiscard]] nvme::Status code() const { return static_cast<nvme::Status>(status & 0x7ffU); }
        [[nodiscard]] bool is_final() const { return (status & 0x4000U) != 0; }
    };

    explicit NvmeMachine(const nvme::Medium& medium = default_medium());
    static nvme::Medium default_medium() {
        return {.bytes = disk_bytes,
                .block_bytes = 512,
                .number = 0,
                .is_read_only = false,
                .keeps_writes = true,
                .discards = true};
    }

    void set(std::uint32_t offset, std::uint32_t value);
    std::uint32_t get(std::uint32_t offset);
    void set_pair(std::uint32_t offset, std::uint64_t value); // by two writes
    std::uint32_t csts() { return get(nvme::at::csts); }

    // Gives the controller its first queues, and enables it.
    void set_admin_queues(std::uint16_t entries = admin_entries);
    void enable(std::uint16_t entries = admin_entries);
    static constexpr std::uint32_t cc_of_drivers = 0x0046'0001; // sizes of entries, and EN

    // Queues as the driver knows them.
    struct Pair {
        std::uint64_t submission = 0;
        std::uint64_t completion = 0;
        std::uint16_t entries = 0;
        std::uint16_t tail = 0;
        std::uint16_t head = 0;
        bool phase = true;
    };
    static Pair place_of(std::uint32_t queue, std::uint16_t entries);
    static std::uint32_t doorbell(std::uint32_t queue, bool is_completion) {
        return nvme::at::doorbells + (((queue * 2) + (is_completion ? 1 : 0)) * 4);
    }

    // Puts a command into a queue, without the doorbell. Its identifier.
    std::uint16_t put(std::uint32_t queue, nvme::Command command);
    void ring(std::uint32_t queue) { set(doorbell(queue, false), pairs[queue].tail); }
    // The next completion, after which the doorbell is rung.
    std::optional<nvme::Completion> take(std::uint32_t queue);
    std::optional<nvme::Completion> look(std::uint32_t queue);
    void serve();
    // Serves, and lets the medium do its work, until nothing happens any more.
    void settle();
    // The whole way of one command.
    Result run(std::uint32_t queue, const nvme::Command& command);
    static Result result_of(const nvme::Completion& completion) {
        return {.status = static_cast<std::uint16_t>(completion.identifier_and_status >> 17U),
                .value = completion.result};
    }

    static nvme::Command command(nvme::AdminOpcode opcode, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0);
    static nvme::Command command(nvme::IoOpcode opcode, std::uint64_t lba = 0, std::uint32_t blocks = 1);
    // Of these bytes at an address: PRP1, PRP2, and a list if there has to be one.
    void give_memory(nvme::Command& command, std::uint64_t address, std::uint32_t bytes,
                     std::uint64_t list = lists);
    Result create_completion_queue(std::uint32_t queue, std::uint16_t entries);
    Result create_submission_queue(std::uint32_t queue, std::uint16_t entries, std::uint32_t to);
    // Both of this number.
    void create_pair(std::uint32_t queue, std::uint16_t entries = 64);
    Result read(std::uint64_t lba, std::uint32_t blocks, std::uint64_t address);
    Result write(std::uint64_t lba, std::uint32_t blocks, std::uint64_t address);

    void fill(std::uint64_t address, std::uint64_t bytes, std::uint8_t first);
    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes, std::uint8_t first);
    [[nodiscard]] static std::uint8_t pattern(std::uint8_t first, std::uint64_t offset) {
        return static_cast<std::uint8_t>(first + (offset * 7) + (offset >> 8U));
    }

    void execute(std::size_t place = 0); // at the medium
    bool end(std::size_t place = 0, nvme::TransferEnd how = nvme::TransferEnd::done);

    Ram ram{ram_bytes};
    Nvme nvme;
    std::vector<std::uint8_t> disk;
    std::deque<Work> work;
    std::size_t room = 1000; // of the medium
    bool holds_work = false; // settle() leaves it
    std::vector<Work> done;  // in their order
    std::array<Pair, Nvme::most_queues> pairs{};
    std::uint16_t next_identifier = 0x100;
    unsigned refused = 0; // accesses
    // The pages that the controller announced as written.
    std::vector<std::uint64_t> written;

protected:
    // All memory is RAM, and all places are on the disk.
    void check_transfer(const nvme::Transfer& transfer);

private:
    static bool submit(void* context, const nvme::Transfer& transfer);
    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access access);

    std::array<nvme::Piece, nvme::most_pieces> pieces_{};
};

} // namespace previrt
