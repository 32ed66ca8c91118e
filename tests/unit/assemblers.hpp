// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/command.hpp"
#include "toolchain/image/kernel_file.hpp"

#include <string>

namespace previrt {

// The three ways to assemble a pre-virtualized object.
enum class Assembler : std::uint8_t { gas, clang, previrt_as };

inline constexpr Assembler all_assemblers[] = {Assembler::gas, Assembler::clang, Assembler::previrt_as};

const char* name_of(Assembler assembler);

// Assembles `source`; `plain` leaves out the macros. Fails the test when the assembler says no.
KernelFile assemble(const ScratchDirectory& directory, Assembler assembler, const std::string& source,
                    bool plain = false);

} // namespace previrt
