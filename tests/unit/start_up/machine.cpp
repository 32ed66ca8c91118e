// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/start_up/machine.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace previrt::start_up {

namespace {

Machine& machine_of(void* context) {
    return *static_cast<Machine*>(context);
}

// Byte by byte, since an access may cross a page's end.
bool read(void* context, const StartingProcessor& processor, std::uint64_t linear, std::span<std::uint8_t> to,
          Access access) {
    if (to.empty()) {
        throw std::logic_error("the interpreter reads nothing");
    }
    for (std::uint8_t& byte : to) {
        const auto physical = machine_of(context).to_physical(processor, linear++);
        const std::uint8_t* const from = physical ? machine_of(context).find(*physical, 1, access) : nullptr;
        if (from == nullptr) {
            return false;
        }
        byte = *from;
    }
    return true;
}

bool write(void* context, const StartingProcessor& processor, std::uint64_t linear,
           std::span<const std::uint8_t> from) {
    for (const std::uint8_t byte : from) {
        const auto physical = machine_of(context).to_physical(processor, linear++);
        std::uint8_t* const to = physical ? machine_of(context).find(*physical, 1, Access::write) : nullptr;
        if (to == nullptr) {
            return false;
        }
        machine_of(context).journal.emplace_back(*physical, *to);
        *to = byte;
    }
    return true;
}

Exchange compare_exchange(void* context, const StartingProcessor& processor, std::uint64_t linear,
                          unsigned width, std::uint32_t expected, std::uint32_t desired) {
    Machine& machine = machine_of(context);
    ++machine.exchanges;
    std::uint8_t bytes[4] = {};
    const auto wanted = std::span(bytes).first(width);
    if (!read(context, processor, linear, wanted, Access::read)) {
        return Exchange::refused;
    }
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, width);
    if (machine.lost_exchanges != 0) {
        --machine.lost_exchanges;
        return Exchange::differs;
    }
    if (value != expected) {
        return Exchange::differs;
    }
    std::memcpy(bytes, &desired, width);
    return write(context, processor, linear, wanted) ? Exchange::done : Exchange::refused;
}

backend::CpuidLeaf cpuid(void* context, const StartingProcessor& /*processor*/, std::uint32_t leaf,
                         std::uint32_t /*subleaf*/) {
    const auto& leaves = machine_of(context).leaves;
    const auto found = leaves.find(leaf);
    return found == leaves.end() ? backend::CpuidLeaf{} : found->second;
}

bool read_msr(void* context, std::uint32_t number, std::uint64_t& value) {
    const auto& registers = machine_of(context).model_registers;
    const auto found = registers.find(number);
    if (found == registers.end()) {
        return false;
    }
    value = found->second;
    return true;
}

bool write_msr(void* context, std::uint32_t number, std::uint64_t value) {
    auto& registers = machine_of(context).model_registers;
    const auto found = registers.find(number);
    if (found == registers.end()) {
        return false;
    }
    found->second = value;
    return true;
}

bool read_port(void* context, std::uint16_t port, unsigned /*width*/, std::uint32_t& value) {
    const auto& ports = machine_of(context).ports;
    const auto found = ports.find(port);
    if (found == ports.end()) {
        return false;
    }
    value = found->second;
    return true;
}

bool write_port(void* context, std::uint16_t port, unsigned /*width*/, std::uint32_t value) {
    Machine& machine = machine_of(context);
    if (!machine.writable_ports.contains(port)) {
        return false;
    }
    machine.written_ports.emplace_back(port, value);
    return true;
}

} // namespace

Surroundings Machine::surroundings() {
    constexpr std::uint64_t la57 = 1U << 12U;
    constexpr std::uint64_t pcide = 1U << 17U;
    return {.context = this,
            .offered_cr4 = cr4_de | cr4_pse | cr4_pae | cr4_mce | cr4_pge | cr4_osfxsr | la57 | pcide,
            .offered_efer = efer_sce | efer_lme | efer_nxe,
            .read = read,
            .write = write,
            .compare_exchange = compare_exchange,
            .cpuid = cpuid,
            .read_msr = read_msr,
            .write_msr = write_msr,
            .read_port = read_port,
            .write_port = write_port};
}

Machine::Area& Machine::add_memory(std::uint64_t base, std::uint64_t bytes) {
    return add({.base = base,
                .holds_code = true,
                .holds_data = true,
                .is_writable = true,
                .bytes = std::vector<std::uint8_t>(bytes)});
}

std::uint8_t* Machine::find(std::uint64_t physical, std::uint64_t bytes, Access access) {
    for (Area& area : areas_) {
        const bool allows = access == Access::fetch
                                ? area.holds_code
                                : area.holds_data && (area.is_writable || access == Access::read);
        if (allows && physical >= area.base && physical - area.base + bytes <= area.bytes.size()) {
            return area.bytes.data() + (physical - area.base);
        }
    }
    return nullptr;
}

// 4-level tables, with pages of 2 MiB too.
std::optional<std::uint64_t> Machine::to_physical(const StartingProcessor& processor, std::uint64_t linear) {
    constexpr std::uint64_t frame = 0x000ffffffffff000;
    if ((processor.cr0 & cr0_pg) == 0) {
        return linear;
    }
    std::uint64_t table = processor.cr3 & frame;
    for (unsigned level = 4; level != 0; --level) {
        const unsigned shift = 12 + (9 * (level - 1));
        const std::uint8_t* const place = find(table + (8 * ((linear >> shift) & 511U)), 8, Access::read);
        std::uint64_t entry = 0;
        if (place != nullptr) {
            std::memcpy(&entry, place, sizeof(entry));
        }
        if ((entry & 1U) == 0) {
            return {};
        }
        if (level == 1 || (level == 2 && (entry & 0x80U) != 0)) {
            const std::uint64_t inside = (std::uint64_t{1} << shift) - 1;
            return (entry & frame & ~inside) | (linear & inside);
        }
        table = entry & frame;
    }
    return {};
}

void Machine::put(std::uint64_t physical, const std::vector<std::uint8_t>& bytes) {
    for (Area& area : areas_) {
        if (physical >= area.base && physical - area.base + bytes.size() <= area.bytes.size()) {
            std::ranges::copy(bytes, area.bytes.begin() + static_cast<std::ptrdiff_t>(physical - area.base));
            return;
        }
    }
    throw std::out_of_range("the test puts bytes where its machine has no memory");
}

std::uint64_t Machine::get(std::uint64_t physical, unsigned bytes) {
    std::uint64_t value = 0;
    for (const Area& area : areas_) {
        if (physical >= area.base && physical - area.base + bytes <= area.bytes.size()) {
            std::memcpy(&value, area.bytes.data() + (physical - area.base), bytes);
            return value;
        }
    }
    throw std::out_of_range("the test reads where its machine has no memory");
}

} // namespace previrt::start_up
