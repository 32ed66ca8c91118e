// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/llvm/llvm_target.hpp"

#include <cstdint>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace previrt {

// What LLVM makes of bytes. (Its decoder for the tools has a type of the same name as the VMM's.)
struct Decoded {
    unsigned length;
    std::string name;                         // LLVM's opcode
    std::optional<std::uint64_t> memory;      // address of the memory operand
    std::optional<std::int64_t> displacement; // of it
    std::optional<std::int64_t> immediate;    // the last operand; of a branch, relative to what follows
    std::optional<unsigned> first_register;   // number of the first register operand
};

class LlvmOracle {
public:
    LlvmOracle();

    // Memory operands with the registers and segment bases of the Vcpu and the fake back-end.
    [[nodiscard]] std::optional<Decoded> decode(std::span<const std::uint8_t> bytes,
                                                std::uint64_t address) const;

private:
    [[nodiscard]] std::optional<unsigned> number_of(unsigned llvm_register) const;

    LlvmTarget target_;
    llvm::MCContext context_;
    std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

} // namespace previrt
