// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/llvm/instruction_decoder.hpp"

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

// Meaningful for string instructions; elsewhere the byte may be part of the opcode.
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

} // namespace

InstructionDecoder::InstructionDecoder(const LlvmTarget& target)
    : target_(target), classifier_(target),
      context_(target.triple, target.assembly.get(), target.registers.get(), target.subtarget.get()),
      disassembler_(target.target->createMCDisassembler(*target.subtarget, context_)),
      printer_(target.target->createMCInstPrinter(target.triple, 0, *target.assembly, *target.instructions,
                                                  *target.registers)) {}

std::optional<Instruction> InstructionDecoder::decode(std::span<const std::uint8_t> bytes,
                                                      std::uint64_t address) const {
    // LLVM gives some prefixes as instructions of their own; the processor does not.
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
