// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/record_check.hpp"
#include "toolchain/image/elf_image.hpp"
#include "toolchain/llvm/instruction_decoder.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace previrt {

// The bytes of the executable sections that are instructions.
//
// A linear sweep would take data in text for code and lose its step behind it. Therefore the map follows
// execution, from the surest evidence to the weakest: function symbols, the entry point and recorded sites;
// their branches; code behind a call; addresses taken by instructions and data; the rest inside a function;
// jump tables in text; and last, code that nothing points to. From the second step on, the map believes a
// start only if everything that follows from it decodes and agrees with the known code. The remainder is
// data, or code that nothing reaches: it is reported, not passed over.
class CodeMap {
public:
    // `symbols` has the image's symbols: itself, or the file that it was stripped from.
    CodeMap(const ElfImage& image, const ElfImage& symbols, const std::vector<Site>& sites,
            const InstructionDecoder& decoder);

    struct SensitiveInstruction {
        std::uint64_t address;
        unsigned length;
        SiteForm form;
    };
    struct Range {
        std::uint64_t address;
        std::uint64_t length;
    };

    [[nodiscard]] const std::vector<SensitiveInstruction>& sensitive() const {
        return sensitive_;
    } // by address
    // Instructions that hold a layout constant, recorded or not; by address.
    [[nodiscard]] const std::vector<SensitiveInstruction>& layout_constants() const {
        return layout_constants_;
    }
    // Reached as code for sure, but the decoder knows no such instruction.
    [[nodiscard]] const std::vector<std::uint64_t>& undecodable() const { return undecodable_; }
    // Neither code nor known data, with a sensitive instruction at some offset.
    [[nodiscard]] const std::vector<Range>& doubtful() const { return doubtful_; }
    [[nodiscard]] std::uint64_t instruction_count() const { return instruction_count_; }
    [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }

private:
    enum class Byte : std::uint8_t { unknown, start, body, data };

    struct Area {
        const Section* section;
        std::vector<Byte> bytes;
        std::vector<bool> refuted; // execution from here would run into something that is no code
    };
    struct Step {
        std::uint64_t address;
        Instruction instruction;
    };
    // The evidence that an address is code, surest first.
    enum Evidence : std::uint8_t { certain, after_call, address_taken, evidence_count };

    Area* area_at(std::uint64_t address);
    Byte* byte_at(std::uint64_t address);

    void mark_data_symbols();
    void add_certain_roots(const std::vector<Site>& sites);
    void add_address_roots();
    void add_pointers();
    void explore_roots();
    void explore_gaps(bool inside_functions);
    bool explore(std::uint64_t root, bool sure);
    bool follow(Area& area, std::uint64_t address, bool sure, std::vector<Step>& steps,
                std::vector<std::uint64_t>& pending);
    void follow_overlapping(Area& area, std::uint64_t address);
    [[nodiscard]] bool is_surely_data(std::span<const std::uint8_t> bytes, std::uint64_t address) const;
    bool continue_at(std::uint64_t target, bool sure, std::vector<std::uint64_t>& pending);
    [[nodiscard]] std::optional<std::uint64_t> branch_target(const Instruction& instruction,
                                                             std::uint64_t address, bool& leaves_file) const;
    static void refute(Area& area, std::uint64_t address, std::span<const Step> run);
    void claim(const Step& step);
    void release(const Step& step);
    void commit(const Step& step, bool sure);
    void note(const Instruction& instruction, std::uint64_t address);
    void explore_gap(Area& area, std::size_t begin, std::size_t end);
    std::size_t skip_jump_table(Area& area, std::size_t begin, std::size_t end);
    void summarise();

    const ElfImage& image_;
    const std::vector<Symbol>& symbols_;
    const InstructionDecoder& decoder_;
    std::vector<Area> areas_; // by address
    std::deque<std::uint64_t> roots_[evidence_count];
    std::vector<SensitiveInstruction> sensitive_;
    std::vector<SensitiveInstruction> layout_constants_;
    std::vector<std::uint64_t> undecodable_;
    std::set<std::uint64_t> overlapping_; // already followed
    std::vector<Range> doubtful_;
    std::uint64_t instruction_count_ = 0;
    std::uint64_t data_bytes_ = 0;
};

} // namespace previrt
