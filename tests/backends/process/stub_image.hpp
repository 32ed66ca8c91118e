// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace previrt::process {

// The stub of user processes (backends/process/user_mode/stub.S), out of the VMM's image.
struct StubImage {
    // The addresses of its instructions in a user process, and how objdump prints them.
    std::map<std::uint64_t, std::string> instructions;
    // Its symbols, at their addresses in a user process.
    std::map<std::string, std::uint64_t> symbols;

    [[nodiscard]] std::uint64_t at(const std::string& symbol) const { return symbols.at(symbol); }
    [[nodiscard]] bool is_within(std::uint64_t address, const std::string& first,
                                 const std::string& end) const {
        return address >= at(first) && address < at(end);
    }
    // For messages: the symbol before it, the distance, and the instruction.
    [[nodiscard]] std::string name(std::uint64_t address) const;
};

// Asks nm and objdump.
StubImage read_stub(const std::string& vmm);

} // namespace previrt::process
