// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/layout_constants.hpp"
#include "toolchain/llvm/site_classifier.hpp"

#include <cstdint>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace previrt {

// The successor of an instruction.
enum class Flow : std::uint8_t {
    next,
    branch,        // conditional: target or next
    jump,          // target
    indirect_jump, // unknown target
    call,          // target, and next if it returns
    indirect_call, // unknown target, and next if it returns
    trap,          // ud2, int3: next only if the handler says so
    end,           // return and kin: not next
};

struct Instruction {
    unsigned length; // with all prefixes
    Flow flow;
    bool repeats;
    std::optional<std::uint64_t> target;    // of a direct branch or call
    std::optional<std::uint64_t> reference; // a possible address: of a RIP-relative lea, or an immediate
    std::optional<SiteForm> sensitive;
    llvm::MCInst decoded;
};

class InstructionDecoder {
public:
    explicit InstructionDecoder(const LlvmTarget& target);

    // nullopt: the bytes are no instruction.
    [[nodiscard]] std::optional<Instruction> decode(std::span<const std::uint8_t> bytes,
                                                    std::uint64_t address) const;

    // The layout constant that the instruction certainly holds, as a 64-bit number or as an address; nullptr:
    // none.
    [[nodiscard]] const LayoutConstantInfo* layout_constant(const Instruction& instruction) const;

    [[nodiscard]] const SiteClassifier& classifier() const { return classifier_; }
    [[nodiscard]] std::string text(const Instruction& instruction, std::uint64_t address) const;

private:
    [[nodiscard]] Flow flow_of(const llvm::MCInst& instruction) const;

    const LlvmTarget& target_;
    SiteClassifier classifier_;
    llvm::MCContext context_;
    std::unique_ptr<llvm::MCDisassembler> disassembler_;
    std::unique_ptr<llvm::MCInstPrinter> printer_;
};

} // namespace previrt
