// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/device_access.hpp"

#include "frontends/x86/instructions/instruction_reader.hpp"
#include "frontends/x86/instructions/memory_instruction.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <string_view>

namespace previrt {

namespace {

// The bytes of an instruction, for a message.
class HexBytes {
public:
    explicit HexBytes(std::span<const std::uint8_t> bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        for (const std::uint8_t byte : bytes) {
            text_[length_++] = digits[byte >> 4U];
            text_[length_++] = digits[byte & 15U];
            text_[length_++] = ' ';
        }
    }
    [[nodiscard]] std::string_view text() const { return {text_, length_ == 0 ? 0 : length_ - 1}; }

private:
    char text_[3 * longest_instruction]{};
    std::size_t length_ = 0;
};

} // namespace

void execute_annotated_access(const Instruction& instruction) {
    std::uint64_t value = 0;
    if (instruction.kind == SiteKind::mmio_write) {
        value = read_register(instruction.reg, instruction.width, instruction.rex);
        (void)write_guest(instruction.effective, &value, instruction.width);
    } else if (read_guest(instruction.effective, &value, instruction.width)) {
        write_register(instruction.reg, value, instruction.width, instruction.rex);
    }
}

namespace {

void execute_access(std::uint64_t address, std::string_view not_modelled) {
    std::uint8_t code[longest_instruction];
    const std::size_t got = peek_guest(vcpu.registers.rip, code, sizeof(code),
                                       vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor);
    const std::optional<MemoryInstruction> instruction =
        is_64_bit_code() ? decode_memory_instruction(vcpu.registers.rip, {code, got}) : std::nullopt;
    if (!instruction) {
        stop_guest(not_modelled, address, HexBytes({code, got}).text());
    }
    execute_memory_instruction(*instruction);
}

} // namespace

void execute_device_access(std::uint64_t address, bool is_write) {
    if (vcpu.cpl == 0) {
        const SiteKind kind = is_write ? SiteKind::mmio_write : SiteKind::mmio_read;
        ++counters.trapped_sites[static_cast<std::uint8_t>(kind)];
    }
    execute_access(address, "an access outside RAM by an instruction that is not modelled, at");
}

void execute_unmapped_access(std::uint64_t address) {
    execute_access(address,
                   "an access to unmapped memory of the host by an instruction that is not modelled, at");
}

} // namespace previrt
