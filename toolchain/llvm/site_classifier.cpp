// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/llvm/site_classifier.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

namespace {

struct OpcodeRow {
    const char* llvm_name;
    SiteKind kind;
    Shape shape;
    unsigned width;
    int system_register;
};

constexpr OpcodeRow opcode_rows[] = {
#include "previrt/llvm_opcodes.inc"
};

// LLVM has 20000 opcodes and the table 200 names: the map has only these names.
std::unordered_map<std::string_view, unsigned> opcodes_of_table(const llvm::MCInstrInfo& instructions) {
    std::unordered_map<std::string_view, unsigned> opcodes;
    for (const OpcodeRow& row : opcode_rows) {
        opcodes.emplace(row.llvm_name, 0);
    }
    for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode) {
        const llvm::StringRef name = instructions.getName(opcode);
        const auto entry = opcodes.find(std::string_view(name.data(), name.size()));
        if (entry != opcodes.end()) {
            entry->second = opcode;
        }
    }
    return opcodes;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// CR0..15, DR0..15 and the segment registers, by LLVM's names.
bool is_system_register(std::string_view name) {
    if (name.size() >= 3 && (name.starts_with("CR") || name.starts_with("DR"))) {
        return is_digit(name[2]);
    }
    return name == "ES" || name == "CS" || name == "SS" || name == "DS" || name == "FS" || name == "GS";
}

} // namespace

SiteClassifier::SiteClassifier(const LlvmTarget& target) : target_(target) {
    const auto opcodes = opcodes_of_table(*target.instructions);
    for (const OpcodeRow& row : opcode_rows) {
        const unsigned opcode = opcodes.at(row.llvm_name);
        if (opcode == 0) { // PHI, which is no instruction
            throw std::runtime_error(std::string("this LLVM has no instruction ") + row.llvm_name);
        }
        const Row value{row.kind, row.shape, row.width, row.system_register};
        if (find_site_kind(static_cast<std::uint8_t>(row.kind))->annotates == Annotates::nothing) {
            sensitive_.emplace(opcode, value);
        } else {
            annotated_.emplace(std::pair(row.kind, opcode), value);
        }
    }
}

std::optional<SiteForm> SiteClassifier::classify(const llvm::MCInst& instruction) const {
    const auto found = sensitive_.find(instruction.getOpcode());
    if (found == sensitive_.end()) {
        return std::nullopt;
    }
    const Row& row = found->second;
    return SiteForm{row.kind, row.shape, row.width, operand(row, instruction)};
}

std::optional<SiteForm> SiteClassifier::classify_annotated(SiteKind kind,
                                                           const llvm::MCInst& instruction) const {
    const auto found = annotated_.find({kind, instruction.getOpcode()});
    if (found == annotated_.end()) {
        return std::nullopt;
    }
    return SiteForm{kind, found->second.shape, found->second.width, 0};
}

std::uint8_t SiteClassifier::operand(const Row& row, const llvm::MCInst& instruction) const {
    if (row.shape != Shape::registers && row.shape != Shape::memory) {
        return 0;
    }
    int system = row.system_register;
    std::vector<unsigned> general; // in LLVM's order: destination first
    const llvm::MCInstrDesc& description = target_.instructions->get(instruction.getOpcode());
    for (unsigned i = 0; i < instruction.getNumOperands() && i < description.getNumOperands(); ++i) {
        const llvm::MCOperand& operand = instruction.getOperand(i);
        if (!operand.isReg() || description.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY) {
            continue;
        }
        const unsigned number = target_.registers->getEncodingValue(operand.getReg()) & 15U;
        if (is_system_register(target_.registers->getName(operand.getReg()))) {
            system = static_cast<int>(number);
        } else {
            general.push_back(number);
        }
    }
    unsigned value = 0;
    if (system >= 0) {
        value = (static_cast<unsigned>(system) << 4U) | (general.empty() ? 0 : general[0]);
    } else if (general.size() == 2) {
        value = (general[0] << 4U) | general[1];
    } else if (general.size() == 1) {
        value = row.shape == Shape::memory ? general[0] << 4U : general[0];
    }
    return static_cast<std::uint8_t>(value);
}

} // namespace previrt
