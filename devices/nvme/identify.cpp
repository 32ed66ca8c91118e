// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/identify.hpp"

#include "devices/nvme/configuration_space.hpp"
#include "devices/nvme/features.hpp"
#include "devices/nvme/registers.hpp"
#include "devices/nvme/structure.hpp"

#include <array>
#include <bit>

namespace previrt::nvme {

namespace {

enum class IdentifyStructure : std::uint8_t {
    of_namespace = 0,
    of_controller = 1,
    active_namespaces = 2,
    namespace_descriptors = 3,
};

constexpr std::size_t uuid_bytes = 16;

// Of version 8, which leaves the bits to their user: "previrt" and the disk's number.
constexpr std::array<std::uint8_t, uuid_bytes> uuid_of(std::uint32_t number) {
    return {'p',  'r', 'e', 'v', 'i', 'r', 0x80, 't',
            0x80, 0,   0,   0,   0,   0,   0,    static_cast<std::uint8_t>(number)};
}

constexpr char hex_digit(unsigned value) {
    return static_cast<char>(value < 10 ? '0' + value : 'a' + value - 10);
}

void set_qualified_name(Structure& data, std::uint32_t number) {
    constexpr std::size_t place = 768;
    constexpr std::string_view prefix = "nqn.2014-08.org.nvmexpress:uuid:";
    data.set_text(place, prefix.size(), prefix);
    std::size_t at = place + prefix.size();
    const std::array<std::uint8_t, uuid_bytes> uuid = uuid_of(number);
    for (std::size_t i = 0; i < uuid_bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            data.set(at++, std::uint8_t{'-'});
        }
        data.set(at++, static_cast<std::uint8_t>(hex_digit(uuid[i] >> 4U)));
        data.set(at++, static_cast<std::uint8_t>(hex_digit(uuid[i] & 0xfU)));
    }
}

void identify_controller(const Medium& medium, Structure& data) {
    constexpr std::size_t serial_number = 4;
    constexpr std::string_view serial_prefix = "previrt-disk-";
    data.set(0, pci_vendor);
    data.set(2, pci_vendor);
    data.set_text(serial_number, 20, serial_prefix);
    data.set(serial_number + serial_prefix.size(),
             static_cast<std::uint8_t>(hex_digit(medium.number & 0xfU)));
    data.set_text(24, 40, "previrt NVMe disk");
    data.set_text(64, 8, firmware_revision);
    data.set(77, std::uint8_t{most_transfer_shift - std::countr_zero(page_bytes)}); // MDTS
    data.set(80, version_1_4);
    data.set(111, std::uint8_t{1});                       // an I/O controller
    data.set(258, std::uint8_t{3});                       // ACL
    data.set(259, std::uint8_t{most_event_requests - 1}); // AERL
    data.set(260, std::uint8_t{0x03});                    // FRMW: one slot, which is read-only
    data.set(261, std::uint8_t{0x06});                    // LPA: commands supported, offsets into log pages
    data.set(262, std::uint8_t{error_log_entries - 1});   // ELPE
    data.set(266, warning_temperature);
    data.set(268, critical_temperature);
    data.set(512, std::uint8_t{command_shift | (command_shift << 4U)});
    data.set(513, std::uint8_t{completion_shift | (completion_shift << 4U)});
    data.set(516, only_namespace); // NN
    constexpr std::uint16_t dataset_management = 1U << 2U;
    constexpr std::uint16_t write_zeroes = 1U << 3U;
    constexpr std::uint16_t select = 1U << 4U; // in Get Features
    data.set(520,
             static_cast<std::uint16_t>(write_zeroes | select | (medium.discards ? dataset_management : 0U)));
    constexpr std::uint8_t flush_of_all = 3U << 1U;
    data.set(525, static_cast<std::uint8_t>(flush_of_all | (medium.keeps_writes ? 1U : 0U)));
    set_qualified_name(data, medium.number);
}

void identify_namespace(const Medium& medium, Structure& data) {
    data.set(0, medium.blocks());
    data.set(8, medium.blocks());
    data.set(16, medium.blocks());
    data.set(99, static_cast<std::uint8_t>(medium.is_read_only ? 1 : 0));           // NSATTR
    data.set(130, static_cast<std::uint8_t>(std::countr_zero(medium.block_bytes))); // LBADS
}

void describe_namespace(const Medium& medium, Structure& data) {
    constexpr std::uint8_t uuid_type = 3;
    data.set(0, uuid_type);
    data.set(1, std::uint8_t{uuid_bytes});
    std::size_t at = 4;
    for (const std::uint8_t byte : uuid_of(medium.number)) {
        data.set(at++, byte);
    }
}

} // namespace

Status identify(const Command& command, const Medium& medium, DataRoom room) {
    Structure data(room);
    switch (static_cast<IdentifyStructure>(command.cdw10() & 0xffU)) {
    case IdentifyStructure::of_controller:
        identify_controller(medium, data);
        return Status::success;
    case IdentifyStructure::of_namespace:
        if (command.namespace_id != only_namespace) {
            return Status::invalid_namespace;
        }
        identify_namespace(medium, data);
        return Status::success;
    case IdentifyStructure::active_namespaces:
        if (command.namespace_id >= all_namespaces - 1) {
            return Status::invalid_namespace;
        }
        data.set(0, command.namespace_id < only_namespace ? only_namespace : 0);
        return Status::success;
    case IdentifyStructure::namespace_descriptors:
        if (command.namespace_id != only_namespace) {
            return Status::invalid_namespace;
        }
        describe_namespace(medium, data);
        return Status::success;
    }
    return Status::invalid_field;
}

} // namespace previrt::nvme
