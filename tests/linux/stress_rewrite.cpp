// SPDX-License-Identifier: BSD-2-Clause
// stress-rewrite VMLINUX: what an in-place VMM may do, done to a linked kernel in place. Every site long
// enough becomes a jump to a copy of its instruction elsewhere, and all that is left of it becomes int3. If a
// record were wrong, if anything jumped into a site's padding, or if a fault were looked up at the wrong
// address, the kernel would not boot.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/record_check.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/llvm/instruction_decoder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

namespace previrt {

namespace {

constexpr std::size_t jump_length = 5;
constexpr std::uint8_t jump_opcode = 0xe9;
constexpr std::uint8_t int3 = 0xcc;
constexpr std::size_t least_room = 4096;
constexpr std::size_t exception_entry_size = 12; // {s32 instruction, s32 fixup, s32 type}, each from itself

// int3 that a linker filled up with, between functions and page boundaries.
struct Room {
    std::uint64_t begin;
    std::uint64_t end;
};

class Rewriter {
public:
    explicit Rewriter(const std::string& path)
        : file_(load_kernel_file(path)), places_(file_.elf), sites_(read_site_table(file_, places_)),
          bytes_(file_.elf.file()), decoder_(target_) {
        find_rooms();
        find_compared();
    }

    void run() {
        for (std::size_t i = 0; i < sites_.size(); ++i) {
            rewrite(i);
        }
        move_exceptions();
        std::printf(
            "stress-rewrite: %zu of %zu sites rewritten, %zu entries of the exception table moved; left: ",
            copies_.size(), sites_.size(), exceptions_moved_);
        std::printf("%zu shorter than a jump, %zu in code that is copied, %zu whose address is compared\n",
                    too_short_, copied_code_, compared_.size());
    }

    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
    void find_rooms() {
        for (const Section& section : file_.elf.sections()) {
            if (section.name != ".text") {
                continue;
            }
            for (std::size_t at = 0; at < section.bytes.size();) {
                const std::size_t begin = at;
                while (at < section.bytes.size() && section.bytes[at] == int3) {
                    ++at;
                }
                if (at - begin >= least_room) {
                    rooms_.push_back({section.address + begin + 1, section.address + at});
                }
                at = std::max(at, begin + 1);
            }
        }
        if (rooms_.empty()) {
            throw InputError(file_.path + ": no room for copies of instructions");
        }
    }

    // Linux asks whether a fault came from the iret or the load of %gs that lies at a known address, and
    // repairs it; a VMM reports such faults there. A mere copy cannot, so these stay: sites of the two kinds
    // whose address stands in an instruction, as it is or relative to it.
    void find_compared() {
        std::set<std::uint64_t> candidates;
        for (const Site& site : sites_) {
            const auto kind = static_cast<SiteKind>(site.record.kind);
            if (kind == SiteKind::iret || kind == SiteKind::mov_to_segment) {
                candidates.insert(site.address);
            }
        }
        for (const Section& section : file_.elf.sections()) {
            for (std::size_t i = 0; section.executable && i + sizeof(std::int32_t) <= section.bytes.size();
                 ++i) {
                std::int32_t value = 0;
                std::memcpy(&value, section.bytes.data() + i, sizeof value);
                const auto number = static_cast<std::uint64_t>(std::int64_t{value});
                for (const std::uint64_t address : {number, section.address + i + sizeof value + number}) {
                    if (candidates.contains(address)) {
                        compared_.insert(address);
                    }
                }
            }
        }
    }

    std::uint8_t* at(std::uint64_t address) {
        const Section* const section = file_.elf.section_at(address);
        return bytes_.data() + section->file_offset + (address - section->address);
    }

    // The nearest: with page-table isolation, entry code has only its own 2 MiB.
    Room& room_near(std::uint64_t address) {
        const auto distance = [&](const Room& room) {
            return room.begin > address ? room.begin - address : address - room.begin;
        };
        return *std::ranges::min_element(rooms_, {}, distance);
    }

    void put_jump(std::uint64_t from, std::uint64_t to) {
        const auto distance = static_cast<std::int32_t>(to - (from + jump_length));
        *at(from) = jump_opcode;
        std::memcpy(at(from) + 1, &distance, sizeof distance);
    }

    // Copies the instruction of a site; gives where the copy ends. An address relative to RIP stays the same
    // one.
    std::uint64_t copy_instruction(const Site& site, std::uint64_t to) {
        const SiteKindInfo& info = *find_site_kind(site.record.kind);
        const std::uint64_t from =
            site.address + (info.padding == Padding::front ? site.record.padding_length() : 0);
        const std::size_t length = site.record.instruction_length();
        const Section& section = *file_.elf.section_at(from);
        const auto original = section.bytes.subspan(from - section.address, length);
        std::memcpy(at(to), original.data(), length);
        const auto instruction = decoder_.decode(original, from);
        if (!instruction) {
            throw InputError(places_.at(from).text() + ": not an instruction");
        }
        for (const llvm::MCOperand& operand : instruction->decoded) {
            if (operand.isReg() && operand.getReg() != 0 &&
                std::string_view(target_.registers->getName(operand.getReg())) == "RIP") {
                std::int32_t distance = 0; // the last four bytes: no kind has it and an immediate
                std::memcpy(&distance, original.data() + length - sizeof distance, sizeof distance);
                distance = static_cast<std::int32_t>(distance + static_cast<std::int64_t>(from - to));
                std::memcpy(at(to) + length - sizeof distance, &distance, sizeof distance);
            }
        }
        return to + length;
    }

    void rewrite(std::size_t index) {
        const Site& site = sites_[index];
        const std::string& section = file_.elf.section_at(site.address)->name;
        if (section == ".altinstr_replacement" || section == ".rodata") {
            ++copied_code_; // a relative jump would not survive it
            return;
        }
        if (site.record.site_length() < jump_length) {
            ++too_short_;
            return;
        }
        if (compared_.contains(site.address)) {
            return;
        }
        Room& room = room_near(site.address);
        const std::uint64_t copy = room.begin;
        std::uint64_t end = site.address + site.record.site_length();
        std::uint64_t out = copy_instruction(site, copy);
        const auto kind = static_cast<SiteKind>(site.record.kind);
        const bool shadow = kind == SiteKind::sti || kind == SiteKind::mov_to_segment;
        if (shadow && index + 1 < sites_.size() && sites_[index + 1].address == end) {
            // sti; hlt: no interrupt may come between them.
            end += sites_[index + 1].record.site_length();
            out = copy_instruction(sites_[index + 1], out);
        }
        if (out + jump_length > room.end) {
            throw InputError(file_.path + ": too little room for copies of instructions");
        }
        put_jump(out, end);
        room.begin = out + jump_length;

        put_jump(site.address, copy);
        std::memset(at(site.address) + jump_length, int3, site.record.site_length() - jump_length);
        copies_[site.address] = copy;
    }

    // A copy that faults is found under its own address, and the table stays sorted.
    void move_exceptions() {
        for (const Section& section : file_.elf.sections()) {
            if (section.name != "__ex_table") {
                continue;
            }
            struct Entry {
                std::uint64_t instruction;
                std::uint64_t fixup;
                std::int32_t type;
            };
            std::vector<Entry> entries;
            const auto read = [&](std::size_t offset) {
                std::int32_t value = 0;
                std::memcpy(&value, section.bytes.data() + offset, sizeof value);
                return value;
            };
            const auto target = [&](std::size_t offset) {
                return section.address + offset + static_cast<std::uint64_t>(std::int64_t{read(offset)});
            };
            for (std::size_t i = 0; i + exception_entry_size <= section.bytes.size();
                 i += exception_entry_size) {
                entries.push_back({target(i), target(i + 4), read(i + 8)});
                if (const auto copy = copies_.find(entries.back().instruction); copy != copies_.end()) {
                    entries.back().instruction = copy->second;
                    ++exceptions_moved_;
                }
            }
            std::ranges::sort(entries, {}, &Entry::instruction);
            for (std::size_t i = 0; i < entries.size(); ++i) {
                const std::uint64_t place = section.address + (i * exception_entry_size);
                const std::int32_t words[] = {static_cast<std::int32_t>(entries[i].instruction - place),
                                              static_cast<std::int32_t>(entries[i].fixup - (place + 4)),
                                              entries[i].type};
                std::memcpy(at(place), words, sizeof words);
            }
        }
    }

    KernelFile file_;
    Places places_;
    std::vector<Site> sites_;
    std::vector<std::uint8_t> bytes_;
    LlvmTarget target_;
    InstructionDecoder decoder_;
    std::vector<Room> rooms_;
    std::map<std::uint64_t, std::uint64_t> copies_; // by site
    std::set<std::uint64_t> compared_;
    std::size_t exceptions_moved_ = 0;
    std::size_t too_short_ = 0;
    std::size_t copied_code_ = 0;
};

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: stress-rewrite VMLINUX\n";
        return 2;
    }
    try {
        previrt::Rewriter rewriter(argv[1]);
        rewriter.run();
        previrt::write_file(argv[1], rewriter.bytes());
        return 0;
    } catch (const previrt::InputError& error) {
        std::cerr << "stress-rewrite: " << error.what() << '\n';
        return 2;
    }
}
