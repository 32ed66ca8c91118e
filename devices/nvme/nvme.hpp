// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/command.hpp"
#include "devices/nvme/data_pointer.hpp"
#include "devices/nvme/events.hpp"
#include "devices/nvme/features.hpp"
#include "devices/nvme/log_pages.hpp"
#include "devices/nvme/medium.hpp"
#include "devices/nvme/queues.hpp"
#include "devices/nvme/slots.hpp"
#include "devices/pci/guest_memory.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// An NVMe controller after version 1.4 of the specification, with one namespace. It masters the bus.
//
// The VMM calls start() once. It reads and writes registers when the guest does; this touches none of the
// guest's memory. In batches of its choice, and only while the function masters the bus, it calls serve(),
// which takes commands out of the submission queues and hands transfers to the medium. It calls complete()
// for each transfer that has ended, and then serve() again. interrupt_line() is INTA#, a level; it changes
// with any of these.
struct Nvme {
    static constexpr std::uint32_t most_queues = nvme::Features::most_queues + 1; // pairs, with the admin's

    nvme::Medium medium{};
    nvme::Features features{};
    nvme::Events events{};
    nvme::Log log{};
    std::uint32_t cc = 0;
    std::uint32_t aqa = 0;
    std::uint64_t asq = 0;
    std::uint64_t acq = 0;
    std::uint32_t interrupt_mask = 0; // INTMS and INTMC
    bool is_ready = false;            // CSTS.RDY
    bool is_fatal = false;            // CSTS.CFS
    bool is_notified = false;         // serve() may have something to do
    bool lacks_room = false;          // the medium, since serve() began
    enum class Shutdown : std::uint8_t { none, requested, flushing, complete };
    Shutdown shutdown = Shutdown::none;
    std::uint32_t writes_ended = 0; // on the medium: a flush covers those before it
    std::uint32_t writes_flushed = 0;
    std::uint32_t filled_queues = 0;       // a bit for each submission queue that has commands
    std::uint32_t interrupting_queues = 0; // a bit for each completion queue that requests an interrupt
    std::array<nvme::SubmissionQueue, most_queues> submission{};
    std::array<nvme::CompletionQueue, most_queues> completion{};
    nvme::Slots slots{};

    // Called on a new one.
    void start(const nvme::Medium& its_medium);

    // nullopt, false: not modelled, and the VMM must stop the guest. Registers are 4 or 8 bytes wide;
    // `offset` is the offset in the BAR.
    [[nodiscard]] std::optional<std::uint64_t> read(std::uint32_t offset, unsigned width) const;
    bool write(std::uint32_t offset, unsigned width, std::uint64_t value);

    [[nodiscard]] bool interrupt_line() const {
        return interrupting_queues != 0 && (interrupt_mask & 1U) == 0;
    }

    // Takes commands as long as there are some and the medium has room. `room` is for one command's data.
    void serve(const GuestMemory& memory, nvme::PieceRoom room, const nvme::MediumPort& port);
    // Transfers that the medium has and that have not ended. As long as there are some after a reset, the
    // controller stays ready: their memory is not the driver's yet.
    [[nodiscard]] std::uint32_t transfers() const { return slots.transfers; }
    [[nodiscard]] bool is_being_reset() const { return is_ready && !is_enabled_; }
    // The driver waits for the end of a reset or of a shutdown.
    [[nodiscard]] bool is_awaited() const {
        return is_being_reset() || (shutdown != Shutdown::none && shutdown != Shutdown::complete);
    }
    // False: there is no such transfer.
    bool complete(const GuestMemory& memory, nvme::PieceRoom room, std::uint32_t token,
                  nvme::TransferEnd end);

private:
    // Of a command: it has ended, it ends later, or it stays in its queue.
    enum class Course : std::uint8_t { ended, taken, stays };
    struct Outcome {
        Course course = Course::ended;
        nvme::Status status = nvme::Status::success;
        std::uint32_t result = 0;
    };
    // All that serve() gets.
    struct Surroundings {
        const GuestMemory& memory;
        nvme::PieceRoom room;
        const nvme::MediumPort& port;
    };
    static Outcome failed(nvme::Status status) { return {.status = status}; }

    [[nodiscard]] std::uint32_t read_word(std::uint32_t offset) const;
    void write_word(std::uint32_t offset, std::uint32_t value);
    void write_cc(std::uint32_t value);
    void write_doorbell(std::uint32_t number, std::uint32_t value);
    [[nodiscard]] std::uint32_t csts() const;
    void enable();
    void reset();
    void fail();
    [[nodiscard]] bool runs() const { return is_enabled_ && is_ready && !is_fatal; }

    [[nodiscard]] bool take_command(const Surroundings& with, std::uint32_t queue);
    void take_commands(const Surroundings& with);
    void finish(const GuestMemory& memory, std::uint32_t queue, std::uint16_t command,
                const Outcome& outcome);
    void log_failure(std::uint32_t queue, const nvme::Command& command, nvme::Status status);
    void follow_queue(std::uint32_t queue);
    void finish_deletions(const GuestMemory& memory);
    void deliver_events(const GuestMemory& memory);
    void continue_shutdown(const Surroundings& with);
    void end_reset();

    Outcome execute_admin(const Surroundings& with, const nvme::Command& command);
    static Outcome transfer_data(const Surroundings& with, const nvme::Command& command, std::uint32_t bytes,
                                 std::span<const std::uint8_t> data);
    [[nodiscard]] Outcome identify(const Surroundings& with, const nvme::Command& command) const;
    Outcome get_log_page(const Surroundings& with, const nvme::Command& command);
    Outcome create_completion_queue(const nvme::Command& command);
    Outcome create_submission_queue(const nvme::Command& command);
    Outcome delete_completion_queue(const nvme::Command& command);
    Outcome delete_submission_queue(const nvme::Command& command);
    [[nodiscard]] Outcome get_features(const nvme::Command& command) const;
    Outcome set_features(const nvme::Command& command);
    [[nodiscard]] std::uint8_t told_warning() const {
        return static_cast<std::uint8_t>(features.critical_warning() &
                                         features.asynchronous_event_configuration);
    }
    Outcome abort(const Surroundings& with, const nvme::Command& command);
    Outcome request_event(const nvme::Command& command);

    Outcome execute_io(const Surroundings& with, const nvme::Command& command, std::uint32_t queue);
    Outcome read_or_write(const Surroundings& with, const nvme::Command& command, std::uint32_t queue);
    Outcome write_zeroes(const Surroundings& with, const nvme::Command& command, std::uint32_t queue);
    Outcome flush(const Surroundings& with, const nvme::Command& command, std::uint32_t queue);
    Outcome manage_dataset(const nvme::Command& command, std::uint32_t queue);
    void discard_ranges(const Surroundings& with);
    void discard_next(const Surroundings& with, std::uint32_t number);
    void finish_slot(const GuestMemory& memory, std::uint32_t number, nvme::Status status);
    Outcome submit(const Surroundings& with, const nvme::Transfer& transfer, const nvme::Slot& slot);
    [[nodiscard]] bool is_in_range(std::uint64_t lba, std::uint64_t blocks) const {
        return lba <= medium.blocks() && blocks <= medium.blocks() - lba;
    }
    void count_end(const nvme::Slot& slot, bool is_done);

    bool is_enabled_ = false; // since CC.EN was last set
};

static_assert(std::is_trivially_copyable_v<Nvme>);

} // namespace previrt
