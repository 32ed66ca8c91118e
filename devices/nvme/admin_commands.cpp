// SPDX-License-Identifier: BSD-2-Clause
// The commands of the first queue.
#include "devices/nvme/nvme.hpp"

#include "devices/nvme/identify.hpp"
#include "devices/nvme/registers.hpp"

#include <algorithm>
#include <array>

namespace previrt {

using namespace nvme;

namespace {

constexpr std::uint32_t physically_contiguous = 1;
constexpr std::uint32_t interrupts_enabled = 2;

// Of the commands that create and delete queues.
constexpr std::uint32_t queue_of(const Command& command) {
    return command.cdw10() & 0xffffU;
}
constexpr std::uint32_t entries_of(const Command& command) {
    return (command.cdw10() >> 16U) + 1;
}

// Success: the queue can be made.
Status check_new_queue(const Command& command, std::uint32_t queues, bool exists, bool has_entry_size) {
    const std::uint32_t queue = queue_of(command);
    if (queue == 0 || queue > queues || exists) {
        return Status::invalid_queue_identifier;
    }
    if (entries_of(command) < 2 || entries_of(command) > most_entries || !has_entry_size) {
        return Status::invalid_queue_size;
    }
    if ((command.cdw11() & physically_contiguous) == 0) {
        return Status::invalid_field;
    }
    return command.prp1 % page_bytes == 0 ? Status::success : Status::prp_offset_invalid;
}

constexpr std::uint32_t feature_of(const Command& command) {
    return command.cdw10() & 0xffU;
}

} // namespace

Nvme::Outcome Nvme::execute_admin(const Surroundings& with, const Command& command) {
    if (command.flags != 0) { // fused, or with a scatter-gather list
        return failed(Status::invalid_field);
    }
    switch (static_cast<AdminOpcode>(command.opcode)) {
    case AdminOpcode::delete_submission_queue:
        return delete_submission_queue(command);
    case AdminOpcode::create_submission_queue:
        return create_submission_queue(command);
    case AdminOpcode::get_log_page:
        return get_log_page(with, command);
    case AdminOpcode::delete_completion_queue:
        return delete_completion_queue(command);
    case AdminOpcode::create_completion_queue:
        return create_completion_queue(command);
    case AdminOpcode::identify:
        return identify(with, command);
    case AdminOpcode::abort:
        return abort(with, command);
    case AdminOpcode::set_features:
        return set_features(command);
    case AdminOpcode::get_features:
        return get_features(command);
    case AdminOpcode::asynchronous_event_request:
        return request_event(command);
    }
    return failed(Status::invalid_opcode);
}

// As much of the data as the command has bytes for.
Nvme::Outcome Nvme::transfer_data(const Surroundings& with, const Command& command, std::uint32_t bytes,
                                  std::span<const std::uint8_t> data) {
    const DataPointer place{.prp1 = command.prp1, .prp2 = command.prp2, .bytes = bytes};
    std::span<const Piece> pieces;
    const Status status = place.find(with.memory, GuestMemory::Access::write, with.room, pieces);
    if (status == Status::success) {
        copy_to_guest(with.memory, pieces, data);
    }
    return {.status = status};
}

[[gnu::noinline]] Nvme::Outcome Nvme::identify(const Surroundings& with, const Command& command) const {
    std::array<std::uint8_t, data_bytes> data{};
    const Status status = nvme::identify(command, medium, data);
    return status == Status::success ? transfer_data(with, command, data_bytes, data) : failed(status);
}

[[gnu::noinline]] Nvme::Outcome Nvme::get_log_page(const Surroundings& with, const Command& command) {
    constexpr std::uint32_t retain_event = 1U << 15U;
    const std::uint32_t identifier = command.cdw10() & 0xffU;
    const std::uint64_t words =
        ((command.cdw10() >> 16U) | (std::uint64_t{command.cdw11() & 0xffffU} << 16U)) + 1;
    const std::uint64_t offset = command.words[2] | (std::uint64_t{command.words[3]} << 32U);
    if (command.namespace_id != 0 && command.namespace_id != all_namespaces) {
        return failed(Status::invalid_field); // all pages are the controller's
    }
    std::array<std::uint8_t, data_bytes> data{};
    const std::optional<std::uint32_t> length = log.page(identifier, features, medium, data);
    if (!length) {
        return failed(Status::invalid_log_page);
    }
    if (offset % 4 != 0 || offset > *length || words > most_transfer_bytes / 4) {
        return failed(Status::invalid_field);
    }
    const auto bytes = static_cast<std::uint32_t>(words * 4);
    const std::span<const std::uint8_t> rest = std::span(data).subspan(offset, *length - offset);
    const Outcome outcome =
        transfer_data(with, command, bytes, rest.first(std::min<std::size_t>(bytes, rest.size())));
    if (outcome.status == Status::success && (command.cdw10() & retain_event) == 0) {
        events.unmask(identifier);
    }
    return outcome;
}

Nvme::Outcome Nvme::create_completion_queue(const Command& command) {
    const std::uint32_t queue = queue_of(command);
    const Status status =
        check_new_queue(command, features.completion_queues,
                        queue < most_queues && completion[queue].exists(), cc_iocqes(cc) == completion_shift);
    if (status != Status::success) {
        return failed(status);
    }
    const std::uint32_t vector = command.cdw11() >> 16U;
    if (vector != 0) {
        return failed(Status::invalid_interrupt_vector);
    }
    CompletionQueue& made = completion[queue];
    made = {};
    made.base = command.prp1;
    made.size = static_cast<std::uint16_t>(entries_of(command));
    made.interrupts = (command.cdw11() & interrupts_enabled) != 0;
    return {};
}

Nvme::Outcome Nvme::create_submission_queue(const Command& command) {
    const std::uint32_t queue = queue_of(command);
    const std::uint32_t to = command.cdw11() >> 16U;
    if (to == 0 || to >= most_queues || !completion[to].exists()) {
        return failed(Status::completion_queue_invalid);
    }
    const Status status =
        check_new_queue(command, features.submission_queues,
                        queue < most_queues && submission[queue].exists(), cc_iosqes(cc) == command_shift);
    if (status != Status::success) {
        return failed(status);
    }
    SubmissionQueue& made = submission[queue];
    made = {};
    made.base = command.prp1;
    made.size = static_cast<std::uint16_t>(entries_of(command));
    made.completion_queue = static_cast<std::uint16_t>(to);
    ++completion[to].users;
    return {};
}

Nvme::Outcome Nvme::delete_completion_queue(const Command& command) {
    const std::uint32_t queue = queue_of(command);
    if (queue == 0 || queue >= most_queues || !completion[queue].exists()) {
        return failed(Status::invalid_queue_identifier);
    }
    if (completion[queue].users != 0) {
        return failed(Status::invalid_queue_deletion);
    }
    completion[queue] = {};
    interrupting_queues &= ~(1U << queue);
    return {};
}

// Ends when the medium has done with the queue's memory.
Nvme::Outcome Nvme::delete_submission_queue(const Command& command) {
    const std::uint32_t queue = queue_of(command);
    if (queue == 0 || queue >= most_queues || !submission[queue].exists() ||
        submission[queue].is_being_deleted) {
        return failed(Status::invalid_queue_identifier);
    }
    SubmissionQueue& deleted = submission[queue];
    filled_queues &= ~(1U << queue);
    if (deleted.in_flight == 0) {
        --completion[deleted.completion_queue].users;
        deleted = {};
        return {};
    }
    deleted.is_being_deleted = true;
    deleted.deletion = command.identifier;
    ++submission[0].in_flight;
    ++completion[0].reserved;
    return {.course = Course::taken};
}

Nvme::Outcome Nvme::get_features(const Command& command) const {
    enum class Select : std::uint8_t { current, by_default, saved, capabilities };
    const std::uint32_t identifier = feature_of(command);
    const auto select = static_cast<Select>((command.cdw10() >> 8U) & 7U);
    if (select > Select::capabilities) {
        return failed(Status::invalid_field);
    }
    const Features& shown = select == Select::current ? features : Features{};
    const std::optional<std::uint32_t> value = shown.get(identifier, command.cdw11(), medium.keeps_writes);
    if (!value) {
        return failed(Status::invalid_field);
    }
    if (Features::is_of_namespace(identifier) && command.namespace_id != only_namespace &&
        command.namespace_id != all_namespaces) {
        return failed(Status::invalid_namespace);
    }
    constexpr std::uint32_t changeable = 4;
    constexpr std::uint32_t of_namespace = 2;
    return {.result = select != Select::capabilities
                          ? *value
                          : changeable | (Features::is_of_namespace(identifier) ? of_namespace : 0)};
}

Nvme::Outcome Nvme::set_features(const Command& command) {
    constexpr std::uint32_t save = 1U << 31U;
    const std::uint32_t identifier = feature_of(command);
    if (!features.get(identifier, 0, medium.keeps_writes)) {
        return failed(Status::invalid_field);
    }
    if ((command.cdw10() & save) != 0) {
        return failed(Status::feature_identifier_not_saveable);
    }
    const bool is_one_namespace = command.namespace_id != 0 && command.namespace_id != all_namespaces;
    if (Features::is_of_namespace(identifier)) {
        if (command.namespace_id != only_namespace && command.namespace_id != all_namespaces) {
            return failed(Status::invalid_namespace);
        }
    } else if (is_one_namespace) {
        return failed(Status::feature_not_namespace_specific);
    }
    const bool is_number_of_queues =
        identifier == static_cast<std::uint32_t>(FeatureIdentifier::number_of_queues);
    if (is_number_of_queues &&
        std::ranges::any_of(std::span(completion).subspan(1), &CompletionQueue::exists)) {
        return failed(Status::command_sequence_error);
    }
    const std::uint8_t warned_before = told_warning();
    const Status status = features.set(identifier, command.cdw11(), medium.keeps_writes);
    if (told_warning() > warned_before) {
        events.raise(Event::temperature_threshold);
    }
    return {.status = status,
            .result = is_number_of_queues && status == Status::success ? features.number_of_queues() : 0};
}

// Only requests for events can be aborted: the medium has all other commands.
Nvme::Outcome Nvme::abort(const Surroundings& with, const Command& command) {
    constexpr std::uint32_t not_aborted = 1;
    const std::uint32_t queue = command.cdw10() & 0xffffU;
    const auto aborted = static_cast<std::uint16_t>(command.cdw10() >> 16U);
    ++completion[0].reserved; // for this command's own completion
    const bool has_room = completion[0].has_room();
    --completion[0].reserved;
    if (queue != 0 || !has_room || !events.drop_request(aborted)) {
        return {.result = not_aborted};
    }
    finish(with.memory, 0, aborted, failed(Status::abort_requested));
    return {};
}

Nvme::Outcome Nvme::request_event(const Command& command) {
    return events.add_request(command.identifier) ? Outcome{.course = Course::taken}
                                                  : failed(Status::asynchronous_event_request_limit_exceeded);
}

} // namespace previrt
