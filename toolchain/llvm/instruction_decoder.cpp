// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/llvm/instruction_decoder.hpp"

#include <algorithm>
#include <llvm/Support/raw_ostream.h>
#include <string_view>

namespace previrt {

namespace {

bool is_prefix(std::string_view name) {
    return name == "REP_PREFIX" || name == "REPNE_PREFIX" || name == "LOCK_PREFIX" ||
           name == "DATA16_PREFIX" || name == "REX64_PREFIX" || name == "XACQUIRE_PREFIX" ||
           name == "XRELEASE_PREFIX" || name == "CS_PREFIX" || name == "SS_PREFIX" || name == "DS_PREFIX" ||
           name == "ES_PREFIX" || name == "FS_PREFIX" || name == "GS_PREFIX";
}

// Only meaningful for string instructions; elsewhere the byte may be part of the opcode.
bool has_repeat_prefix(std::span<const std::uint8_t> instruction) {
    for (const std::uint8_t byte : instruction) {
        if (byte == 0xf2 || byte == 0xf3) {
            return true;
        }
        if (byte != 0x66 && byte != 0x67 && byte != 0x2e && byte != 0x3e) {
            return false;
        }
    }
    return false;
}

constexpr unsigned memory_operands = 5; // base, scale, index, displacement, segment

bool combines_bits(std::string_view name) {
    return name.starts_with("AND") || name.starts_with("OR") || name.starts_with("XOR") ||
           name.starts_with("TEST");
}

const LayoutConstantInfo* constant_that_covers(std::int64_t number) {
    const auto* const found =
        std::ranges::find_if(layout_constants, [number](const LayoutConstantInfo& constant) {
            return !constant.is_mask && constant.covers(static_cast<std::uint64_t>(number));
        });
    return found == std::end(layout_constants) ? nullptr : found;
}

} // namespace

InstructionDecoder::InstructionDecoder(const LlvmTarget& target)
    : target_(target), classifier_(target),
      context_(target.triple, target.assembly.get(), target.registers.get(), target.subtarget.get()),
      disassembler_(target.target->createMCDisassembler(*target.subtarget, context_)),
      printer_(target.target->createMCInstPrinter(target.triple, 0, *target.assembly, *target.instructions,
                                                  *target.registers)) {}

std::optional<Instruction> InstructionDecoder::decode(std::span<const std::uint8_t> bytes,
                                                      std::uint64_t address) const {
    // LLVM decodes some prefixes as instructions of their own; the processor does not.
    unsigned length = 0;
    llvm::MCInst decoded;
    std::string_view name;
    do {
        std::uint64_t step = 0;
        decoded.clear();
        decoded.setFlags(0);
        const llvm::ArrayRef<std::uint8_t> rest(bytes.data() + length, bytes.size() - length);
        if (disassembler_->getInstruction(decoded, step, rest, address + length, llvm::nulls()) !=
            llvm::MCDisassembler::Success) {
            return std::nullopt;
        }
        length += static_cast<unsigned>(step);
        name = target_.instructions->getName(decoded.getOpcode());
    } while (is_prefix(name) && length < bytes.size());
    if (is_prefix(name) || length > 15) {
        return std::nullopt;
    }

    Instruction instruction{.length = length,
                            .flow = flow_of(decoded),
                            .repeats = has_repeat_prefix(bytes.first(length)),
                            .target = {},
                            .reference = {},
                            .sensitive = classifier_.classify(decoded),
                            .decoded = decoded};
    std::uint64_t target = 0;
    if (target_.analysis->evaluateBranch(decoded, address, length, target)) {
        instruction.target = target;
    }
    if (name.starts_with("LEA64")) {
        instruction.reference =
            target_.analysis->evaluateMemoryOperandAddress(decoded, target_.subtarget.get(), address, length);
    } else if (name.ends_with("ri32") || name.ends_with("mi32") || name.ends_with("64i32") ||
               name == "MOV64ri") {
        const llvm::MCOperand& immediate = decoded.getOperand(decoded.getNumOperands() - 1);
        if (immediate.isImm()) {
            instruction.reference = static_cast<std::uint64_t>(immediate.getImm());
        }
    }
    return instruction;
}

const LayoutConstantInfo* InstructionDecoder::layout_constant(const Instruction& instruction) const {
    const llvm::MCInst& decoded = instruction.decoded;
    const llvm::MCInstrDesc& description = target_.instructions->get(decoded.getOpcode());
    const std::string_view name = target_.instructions->getName(decoded.getOpcode());
    const bool has_number = name.find("64") != std::string_view::npos && !combines_bits(name) &&
                            !description.isBranch() && !description.isCall();
    for (unsigned i = 0; i < decoded.getNumOperands(); ++i) {
        // LLVM does not classify the address operand of lea as memory.
        const bool is_memory = i + memory_operands <= decoded.getNumOperands() &&
                               i < description.operands().size() && decoded.getOperand(i).isReg() &&
                               (description.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY ||
                                (name.starts_with("LEA") && i == 1));
        const llvm::MCOperand& operand = decoded.getOperand(is_memory ? i + 3 : i);
        const bool is_absolute = is_memory && decoded.getOperand(i).getReg() == 0 &&
                                 decoded.getOperand(i + 2).getReg() == 0 &&
                                 decoded.getOperand(i + 4).getReg() == 0;
        if (operand.isImm() && (is_memory ? is_absolute : has_number)) {
            if (const LayoutConstantInfo* const constant = constant_that_covers(operand.getImm())) {
                return constant;
            }
        }
        i += is_memory ? memory_operands - 1 : 0;
    }
    return nullptr;
}

Flow InstructionDecoder::flow_of(const llvm::MCInst& instruction) const {
    const llvm::MCInstrDesc& description = target_.instructions->get(instruction.getOpcode());
    const std::string_view name = target_.instructions->getName(instruction.getOpcode());
    if (name == "UD2" || name == "UD1Lm" || name == "UD1Lr" || name == "TRAP" || name == "INT3") {
        return Flow::trap;
    }
    if (description.isReturn() || name.starts_with("IRET") || name.starts_with("LRET") ||
        name.starts_with("SYSRET") || name.starts_with("SYSEXIT") || name.starts_with("ERET") ||
        name == "RSM") {
        return Flow::end;
    }
    if (name.starts_with("FARJMP")) {
        return Flow::indirect_jump;
    }
    if (description.isCall()) {
        return name == "CALL64pcrel32" || name == "CALL64pcrel16" ? Flow::call : Flow::indirect_call;
    }
    if (description.isIndirectBranch()) {
        return Flow::indirect_jump;
    }
    if (description.isUnconditionalBranch()) {
        return Flow::jump;
    }
    if (description.isConditionalBranch()) {
        return Flow::branch;
    }
    return Flow::next;
}

std::string InstructionDecoder::text(const Instruction& instruction, std::uint64_t address) const {
    std::string out;
    llvm::raw_string_ostream stream(out);
    printer_->printInst(&instruction.decoded, address, "", *target_.subtarget, stream);
    std::string words;
    for (const char c : out) {
        const char plain = c == '\t' ? ' ' : c;
        if (plain != ' ' || (!words.empty() && words.back() != ' ')) {
            words += plain;
        }
    }
    return words;
}

} // namespace previrt
