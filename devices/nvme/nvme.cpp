// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/nvme.hpp"

#include "devices/nvme/registers.hpp"

#include <bit>

namespace previrt {

using namespace nvme;

namespace {

constexpr std::uint64_t capabilities = cap_mqes | cap_cqr | cap_to | cap_css_nvm;

constexpr std::uint32_t submission_entries(std::uint32_t aqa) {
    return (aqa & 0xfffU) + 1;
}
constexpr std::uint32_t completion_entries(std::uint32_t aqa) {
    return ((aqa >> 16U) & 0xfffU) + 1;
}

constexpr std::uint64_t with_half(std::uint64_t value, bool upper, std::uint32_t half) {
    return upper ? (value & 0xffff'ffffU) | (std::uint64_t{half} << 32U)
                 : (value & ~std::uint64_t{0xffff'ffff}) | half;
}

} // namespace

void Nvme::start(const Medium& its_medium) {
    medium = its_medium;
}

std::optional<std::uint64_t> Nvme::read(std::uint32_t offset, unsigned width) const {
    if ((width != 4 && width != 8) || offset % width != 0) {
        return std::nullopt;
    }
    const std::uint64_t low = read_word(offset);
    return width == 4 ? low : low | (std::uint64_t{read_word(offset + 4)} << 32U);
}

// Doorbells, and all that is reserved, read as 0.
std::uint32_t Nvme::read_word(std::uint32_t offset) const {
    switch (offset) {
    case at::cap:
        return static_cast<std::uint32_t>(capabilities);
    case at::cap + 4:
        return static_cast<std::uint32_t>(capabilities >> 32U);
    case at::vs:
        return version_1_4;
    case at::intms:
    case at::intmc:
        return interrupt_mask;
    case at::cc:
        return cc;
    case at::csts:
        return csts();
    case at::aqa:
        return aqa;
    case at::asq:
        return static_cast<std::uint32_t>(asq);
    case at::asq + 4:
        return static_cast<std::uint32_t>(asq >> 32U);
    case at::acq:
        return static_cast<std::uint32_t>(acq);
    case at::acq + 4:
        return static_cast<std::uint32_t>(acq >> 32U);
    default:
        return 0;
    }
}

std::uint32_t Nvme::csts() const {
    std::uint32_t value = (is_ready ? csts_rdy : 0) | (is_fatal ? csts_cfs : 0);
    if (shutdown == Shutdown::complete) {
        value |= csts_shst_complete;
    } else if (shutdown != Shutdown::none) {
        value |= csts_shst_processing;
    }
    return value;
}

bool Nvme::write(std::uint32_t offset, unsigned width, std::uint64_t value) {
    if ((width != 4 && width != 8) || offset % width != 0) {
        return false;
    }
    write_word(offset, static_cast<std::uint32_t>(value));
    if (width == 8) {
        write_word(offset + 4, static_cast<std::uint32_t>(value >> 32U));
    }
    return true;
}

void Nvme::write_word(std::uint32_t offset, std::uint32_t value) {
    if (offset >= at::doorbells) {
        write_doorbell((offset - at::doorbells) / doorbell_bytes, value);
        return;
    }
    const bool is_enabled = (cc & cc_en) != 0; // then the admin's queues stay
    switch (offset) {
    case at::intms:
        interrupt_mask |= value;
        break;
    case at::intmc:
        interrupt_mask &= ~value;
        break;
    case at::cc:
        write_cc(value & cc_writable);
        break;
    case at::aqa:
        aqa = is_enabled ? aqa : value & aqa_writable;
        break;
    case at::asq:
    case at::asq + 4:
        asq = is_enabled ? asq : with_half(asq, offset != at::asq, value) & ~(page_bytes - 1);
        break;
    case at::acq:
    case at::acq + 4:
        acq = is_enabled ? acq : with_half(acq, offset != at::acq, value) & ~(page_bytes - 1);
        break;
    default:
        break;
    }
}

void Nvme::write_cc(std::uint32_t value) {
    const bool was_enabled = (cc & cc_en) != 0;
    cc = value;
    if (was_enabled && (cc & cc_en) == 0) {
        reset();
    } else if (!was_enabled && (cc & cc_en) != 0 && transfers() == 0) {
        enable(); // otherwise the end of the reset does it
    }
    if ((cc & cc_shn) != 0 && shutdown == Shutdown::none) {
        shutdown = runs() ? Shutdown::requested : Shutdown::complete;
        is_notified = true;
    }
}

void Nvme::enable() {
    const std::uint32_t commands = submission_entries(aqa);
    const std::uint32_t completions = completion_entries(aqa);
    if ((cc & (cc_css | cc_mps | cc_ams)) != 0 || commands < 2 || completions < 2) {
        is_fatal = true;
        return;
    }
    submission[0].base = asq;
    submission[0].size = static_cast<std::uint16_t>(commands);
    completion[0].base = acq;
    completion[0].size = static_cast<std::uint16_t>(completions);
    completion[0].users = 1;
    completion[0].interrupts = true;
    is_enabled_ = true;
    is_ready = true;
    shutdown = Shutdown::none;
}

void Nvme::reset() {
    submission = {};
    completion = {};
    events = {};
    features = {};
    filled_queues = 0;
    interrupting_queues = 0;
    is_enabled_ = false;
    is_fatal = false;
    is_notified = false;
    shutdown = Shutdown::none;
    for (std::uint32_t i = 0; i < Slots::count && slots.waiting != 0; ++i) {
        if (slots.slots[i].use == SlotUse::discard_waits) {
            slots.put(i, {});
        }
    }
    if (transfers() == 0) {
        is_ready = false;
    }
}

void Nvme::end_reset() {
    is_ready = false;
    if ((cc & cc_en) != 0) {
        enable();
    }
}

void Nvme::fail() {
    is_fatal = true;
    filled_queues = 0;
}

void Nvme::write_doorbell(std::uint32_t number, std::uint32_t value) {
    const std::uint32_t queue = number / 2;
    const bool is_completion = (number & 1U) != 0;
    if (!runs()) {
        return;
    }
    is_notified = true;
    const bool exists =
        queue < most_queues && (is_completion ? completion[queue].exists() : submission[queue].exists());
    const bool is_taken =
        exists && (is_completion ? completion[queue].move_head(value) : submission[queue].move_tail(value));
    if (!is_taken) {
        constexpr std::uint16_t of_no_command = 0xffff;
        log.add_error({.submission_queue = of_no_command, .command = of_no_command});
        events.raise(exists ? Event::invalid_doorbell_value : Event::write_to_invalid_doorbell);
        return;
    }
    if (!is_completion) {
        filled_queues |= submission[queue].used() != 0 ? 1U << queue : 0;
    } else if (completion[queue].used() == 0) {
        interrupting_queues &= ~(1U << queue);
    }
}

void Nvme::serve(const GuestMemory& memory, PieceRoom room, const MediumPort& port) {
    const Surroundings with{.memory = memory, .room = room, .port = port};
    is_notified = false;
    lacks_room = false;
    discard_ranges(with);
    if (shutdown == Shutdown::none) {
        take_commands(with);
        discard_ranges(with);
    } else {
        continue_shutdown(with);
    }
    deliver_events(memory);
    is_notified |= lacks_room;
}

// From each queue one command at a time, so that none waits for the others.
void Nvme::take_commands(const Surroundings& with) {
    bool goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (std::uint32_t left = filled_queues; left != 0 && runs() && !lacks_room; left &= left - 1) {
            goes_on |= take_command(with, static_cast<std::uint32_t>(std::countr_zero(left)));
        }
    }
}

// A completion's entry is reserved first. So a completion never waits for room, and commands whose
// completions the driver does not take stay in their queue.
bool Nvme::take_command(const Surroundings& with, std::uint32_t queue) {
    SubmissionQueue& from = submission[queue];
    if (!from.exists() || from.is_being_deleted || from.used() == 0) { // a command before it did that
        filled_queues &= ~(1U << queue);
        return false;
    }
    if (!completion[from.completion_queue].has_room() || (queue != 0 && !slots.find_free())) {
        return false;
    }
    Command command;
    if (!from.read(with.memory, command)) {
        fail();
        return false;
    }
    const Outcome outcome = queue == 0 ? execute_admin(with, command) : execute_io(with, command, queue);
    if (outcome.course == Course::stays) {
        return false;
    }
    from.head = from.next(from.head);
    if (from.used() == 0) {
        filled_queues &= ~(1U << queue);
    }
    if (outcome.course == Course::ended) {
        if (outcome.status != Status::success) {
            log_failure(queue, command, outcome.status);
        }
        finish(with.memory, queue, command.identifier, outcome);
    }
    return true;
}

void Nvme::log_failure(std::uint32_t queue, const Command& command, Status status) {
    log.add_error({.lba = queue == 0 ? 0 : command.starting_lba(),
                   .namespace_id = command.namespace_id,
                   .submission_queue = static_cast<std::uint16_t>(queue),
                   .command = command.identifier,
                   .status = status_field(status)});
}

void Nvme::finish(const GuestMemory& memory, std::uint32_t queue, std::uint16_t command,
                  const Outcome& outcome) {
    const SubmissionQueue& from = submission[queue];
    CompletionQueue& to = completion[from.completion_queue];
    const std::uint32_t status = std::uint32_t{status_field(outcome.status)} << 17U;
    if (!to.post(memory, {.result = outcome.result,
                          .reserved = 0,
                          .submission_head = from.head,
                          .submission_queue = static_cast<std::uint16_t>(queue),
                          .identifier_and_status = command | status})) {
        fail();
        return;
    }
    if (to.interrupts) {
        interrupting_queues |= 1U << from.completion_queue;
    }
}

void Nvme::deliver_events(const GuestMemory& memory) {
    while (runs() && events.has_next() && completion[0].has_room()) {
        std::uint16_t command = 0;
        const std::uint32_t told = events.take(command).value_or(0);
        finish(memory, 0, command, {.result = told});
    }
}

// The deletion of a queue ends with the last of the queue's commands.
void Nvme::follow_queue(std::uint32_t queue) {
    SubmissionQueue& from = submission[queue];
    --completion[from.completion_queue].reserved;
    --from.in_flight;
}

void Nvme::finish_deletions(const GuestMemory& memory) {
    for (std::uint32_t queue = 1; queue < most_queues; ++queue) {
        SubmissionQueue& from = submission[queue];
        if (!from.is_being_deleted || from.in_flight != 0) {
            continue;
        }
        const std::uint16_t command = from.deletion;
        --completion[from.completion_queue].users;
        from = {};
        follow_queue(0);
        finish(memory, 0, command, {});
    }
}

// A normal shutdown leaves everything on stable storage.
void Nvme::continue_shutdown(const Surroundings& with) {
    if (!runs() || shutdown != Shutdown::requested || transfers() != 0 || slots.waiting != 0) {
        return;
    }
    if (!medium.keeps_writes || writes_ended == writes_flushed) {
        shutdown = Shutdown::complete;
        return;
    }
    const Outcome outcome =
        submit(with, flush_transfer, {.amount = writes_ended, .use = SlotUse::shutdown_flush});
    if (outcome.course == Course::taken) {
        shutdown = Shutdown::flushing;
    }
}

} // namespace previrt
