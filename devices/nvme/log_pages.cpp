// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/log_pages.hpp"

#include "devices/nvme/command.hpp"
#include "devices/nvme/structure.hpp"

namespace previrt::nvme {

namespace {

constexpr std::uint32_t error_entry_bytes = 64;
constexpr std::uint32_t short_page_bytes = 512;

void write_firmware_slot(DataRoom room) {
    Structure data(room);
    data.set(0, std::uint8_t{1}); // the active slot
    data.set_text(8, 8, firmware_revision);
}

void write_commands(const Medium& medium, DataRoom room) {
    constexpr std::uint32_t supported = 1;
    constexpr std::uint32_t changes_content = 2;
    constexpr std::size_t io_commands = 1024; // of the page
    Structure data(room);
    for (const AdminOpcode opcode :
         {AdminOpcode::delete_submission_queue, AdminOpcode::create_submission_queue,
          AdminOpcode::get_log_page, AdminOpcode::delete_completion_queue,
          AdminOpcode::create_completion_queue, AdminOpcode::identify, AdminOpcode::abort,
          AdminOpcode::set_features, AdminOpcode::get_features, AdminOpcode::asynchronous_event_request}) {
        data.set(4 * std::size_t{static_cast<std::uint8_t>(opcode)}, supported);
    }
    const auto set_io = [&](IoOpcode opcode, std::uint32_t effects) {
        data.set(io_commands + (4 * std::size_t{static_cast<std::uint8_t>(opcode)}), effects);
    };
    set_io(IoOpcode::flush, supported);
    set_io(IoOpcode::read, supported);
    set_io(IoOpcode::write, supported | changes_content);
    set_io(IoOpcode::write_zeroes, supported | changes_content);
    if (medium.discards) {
        set_io(IoOpcode::dataset_management, supported | changes_content);
    }
}

} // namespace

void Log::add_error(ErrorEntry entry) {
    entry.count = ++error_count;
    for (std::size_t i = errors.size() - 1; i > 0; --i) {
        errors[i] = errors[i - 1];
    }
    errors[0] = entry;
}

void Log::write_errors(DataRoom room) const {
    Structure data(room);
    std::size_t at = 0;
    for (const ErrorEntry& entry : errors) {
        data.set(at, entry.count);
        data.set(at + 8, entry.submission_queue);
        data.set(at + 10, entry.command);
        data.set(at + 12, static_cast<std::uint16_t>(entry.status << 1U));
        data.set(at + 14, std::uint16_t{0xffff}); // not of one parameter
        data.set(at + 16, entry.lba);
        data.set(at + 24, entry.namespace_id);
        at += error_entry_bytes;
    }
}

void Log::write_health(const Features& features, DataRoom room) const {
    constexpr std::uint64_t data_unit = 512'000;
    Structure data(room);
    data.set(0, features.critical_warning());
    data.set(1, temperature);
    data.set(3, std::uint8_t{100}); // available spare, and its threshold
    data.set(4, std::uint8_t{10});
    data.set(32, (bytes_read + data_unit - 1) / data_unit);
    data.set(48, (bytes_written + data_unit - 1) / data_unit);
    data.set(64, reads);
    data.set(80, writes);
    data.set(112, std::uint64_t{1}); // power cycles
    data.set(160, media_errors);
    data.set(176, error_count);
}

std::optional<std::uint32_t> Log::page(std::uint32_t identifier, const Features& features,
                                       const Medium& medium, DataRoom room) const {
    switch (static_cast<LogPage>(identifier)) {
    case LogPage::error_information:
        write_errors(room);
        return error_log_entries * error_entry_bytes;
    case LogPage::health:
        write_health(features, room);
        return short_page_bytes;
    case LogPage::firmware_slot:
        write_firmware_slot(room);
        return short_page_bytes;
    case LogPage::changed_namespaces:
        (void)Structure(room); // none ever changes
        return data_bytes;
    case LogPage::commands_supported:
        write_commands(medium, room);
        return data_bytes;
    }
    return std::nullopt;
}

} // namespace previrt::nvme
