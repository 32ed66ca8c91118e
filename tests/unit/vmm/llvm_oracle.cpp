// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/vmm/llvm_oracle.hpp"

#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <llvm/MC/MCInst.h>

namespace previrt {

namespace {

constexpr const char* legacy_names[] = {"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI"};
constexpr unsigned memory_operands = 5; // base, scale, index, displacement, segment

} // namespace

LlvmOracle::LlvmOracle()
    : context_(target_.triple, target_.assembly.get(), target_.registers.get(), target_.subtarget.get()),
      disassembler_(target_.target->createMCDisassembler(*target_.subtarget, context_)) {}

std::optional<unsigned> LlvmOracle::number_of(unsigned llvm_register) const {
    const std::string name = target_.registers->getName(llvm_register);
    for (unsigned i = 0; i < std::size(legacy_names); ++i) {
        if (name.ends_with(legacy_names[i])) {
            return i;
        }
    }
    if (name.size() >= 2 && name[0] == 'R' && std::isdigit(static_cast<unsigned char>(name[1])) != 0) {
        return static_cast<unsigned>(std::stoul(name.substr(1)));
    }
    return {};
}

std::optional<Decoded> LlvmOracle::decode(std::span<const std::uint8_t> bytes, std::uint64_t address) const {
    Decoded result{};
    llvm::MCInst instruction;
    do {
        std::uint64_t step = 0;
        instruction.clear();
        const llvm::ArrayRef<std::uint8_t> rest(bytes.data() + result.length, bytes.size() - result.length);
        if (disassembler_->getInstruction(instruction, step, rest, address + result.length, llvm::nulls()) !=
            llvm::MCDisassembler::Success) {
            return {};
        }
        result.length += static_cast<unsigned>(step);
        result.name = target_.instructions->getName(instruction.getOpcode()).str();
    } while (result.name.ends_with("PREFIX") && result.length < bytes.size());

    const llvm::MCInstrDesc& description = target_.instructions->get(instruction.getOpcode());
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
        const bool is_memory = i < description.operands().size() &&
                               description.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY;
        if (is_memory && i + memory_operands <= instruction.getNumOperands() &&
            instruction.getOperand(i + 3).isImm()) {
            const auto reg = [&](unsigned which) { return instruction.getOperand(i + which).getReg(); };
            const std::string base = reg(0) == 0 ? "" : target_.registers->getName(reg(0));
            const std::string segment = reg(4) == 0 ? "" : target_.registers->getName(reg(4));
            result.displacement = instruction.getOperand(i + 3).getImm();
            auto memory = static_cast<std::uint64_t>(*result.displacement);
            const std::string index = reg(2) == 0 ? "" : target_.registers->getName(reg(2));
            const auto is_narrow = [](const std::string& name) {
                return name.starts_with("E") || name.ends_with("D"); // EAX, R8D
            };
            const bool narrow = is_narrow(base) || is_narrow(index);
            if (base == "RIP" || base == "EIP") {
                memory += address + result.length;
            } else if (const auto number = number_of(reg(0)); reg(0) != 0 && number) {
                memory += vcpu.registers.general[*number];
            }
            if (const auto number = number_of(reg(2)); reg(2) != 0 && number) {
                memory += vcpu.registers.general[*number] *
                          static_cast<std::uint64_t>(instruction.getOperand(i + 1).getImm());
            }
            memory &= narrow ? 0xffffffffU : ~std::uint64_t{0};
            memory += segment == "FS" ? fake::host.bases.fs : 0;
            memory += segment == "GS" ? fake::host.bases.kernel_gs : 0;
            result.memory = memory;
            i += memory_operands - 1;
        } else if (instruction.getOperand(i).isReg() && !result.first_register) {
            result.first_register = number_of(instruction.getOperand(i).getReg());
        }
    }
    const unsigned operands = instruction.getNumOperands();
    if (operands > 0 && instruction.getOperand(operands - 1).isImm()) {
        result.immediate = instruction.getOperand(operands - 1).getImm();
    }
    return result;
}

} // namespace previrt
