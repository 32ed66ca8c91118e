// SPDX-License-Identifier: BSD-2-Clause
// compare_with_qemu [CASES [SEED]]
// QEMU's processor executes random cases as firmware (comparison_guest.S). The interpreter must leave the
// same registers, defined flags and memory.
#include "frontends/x86/start_up/interpreter.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/start_up/random_case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

extern "C" {
extern const std::uint8_t comparison_guest[];
extern const std::uint8_t comparison_guest_end[];
extern const std::uint8_t comparison_guest_table[];
extern const std::uint8_t comparison_guest_count[];
extern const std::uint8_t comparison_guest_memory[];
extern const std::uint8_t comparison_guest_stubs[];
extern const std::uint8_t comparison_guest_exit_16[];
extern const std::uint8_t comparison_guest_exit_32[];
extern const std::uint8_t comparison_guest_global_table[];
}

namespace {

using namespace previrt::start_up;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t page_of_rom = 0x10000;
constexpr std::uint32_t stubs_at = 0x400;
constexpr std::uint64_t case_bytes = 256;
constexpr std::uint16_t output_port = 0xe9;
constexpr std::uint16_t end_port = 0xf4;
constexpr std::uint64_t compared_flags = 0x00247fff; // what popf can set

// What comparison_guest.S writes of a case.
struct Result {
    std::uint32_t general[8];
    std::uint32_t flags;
    std::uint32_t sum;
};

std::size_t offset_of(const std::uint8_t* place) {
    return static_cast<std::size_t>(place - comparison_guest);
}

void put_word(Bytes& bytes, std::size_t at, std::uint64_t value) {
    const auto word = static_cast<std::uint32_t>(value);
    std::memcpy(bytes.data() + at, &word, sizeof(word));
}

void append_case(Bytes& bytes, const Case& one) {
    const std::size_t at = bytes.size();
    bytes.resize(at + case_bytes);
    std::memcpy(bytes.data() + at, one.general_before, sizeof(one.general_before));
    put_word(bytes, at + 32, one.flags_before);
    put_word(bytes, at + 36, one.has_32_bits ? 1 : 0);
    std::memcpy(bytes.data() + at + 40, one.code.data(), one.code.size());
}

// The cases, the memory before the first, and at the end of 4 GiB the guest.
Bytes make_firmware(const std::vector<Case>& cases, const Bytes& memory) {
    Bytes front = memory;
    for (const Case& one : cases) {
        append_case(front, one);
    }
    front.resize((front.size() + page_of_rom - 1) / page_of_rom * page_of_rom);
    const std::uint64_t base = (std::uint64_t{1} << 32U) - front.size() - page_of_rom;
    Bytes guest(comparison_guest, comparison_guest_end);
    put_word(guest, offset_of(comparison_guest_memory), base);
    put_word(guest, offset_of(comparison_guest_table), base + memory.size());
    put_word(guest, offset_of(comparison_guest_count), cases.size());
    guest.resize(page_of_rom);
    // The processor begins 16 bytes before the end: jmp to the guest.
    constexpr std::size_t reset = page_of_rom - 16;
    guest[reset] = 0xe9;
    put_word(guest, reset + 1, page_of_rom - (reset + 3));
    front.insert(front.end(), guest.begin(), guest.end());
    return front;
}

std::vector<Result> results_of(const Bytes& bytes) {
    std::vector<Result> results(bytes.size() / sizeof(Result));
    std::memcpy(results.data(), bytes.data(), results.size() * sizeof(Result));
    return results;
}

std::vector<Result> run_by_qemu(const Bytes& firmware) {
    const previrt::ScratchDirectory folder;
    const std::string image = folder.path("firmware");
    const std::string output = folder.path("output");
    std::ofstream(image, std::ios::binary)
        .write(reinterpret_cast<const char*>(firmware.data()), static_cast<std::streamsize>(firmware.size()));
    // It ends by isa-debug-exit with status 1.
    const std::string command =
        "timeout 15 qemu-system-x86_64 -machine pc,accel=tcg -cpu qemu64 -m 16 -nodefaults "
        "-no-user-config -display none -no-reboot -device isa-debug-exit,iobase=0xf4 "
        "-chardev file,id=output,path=" +
        output + " -device isa-debugcon,iobase=0xe9,chardev=output -bios " + image;
    std::cout << previrt::run_command(command).output;
    std::ifstream written(output, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(written), {}};
    return results_of(bytes);
}

std::vector<Result> run_by_interpreter(const Bytes& firmware) {
    constexpr std::uint64_t ram = 0x50000;
    constexpr std::uint64_t most_steps = 100'000'000;
    Machine machine;
    machine.add_memory(0, ram);
    machine.add({.base = (std::uint64_t{1} << 32U) - firmware.size(),
                 .holds_code = true,
                 .holds_data = true,
                 .is_writable = false,
                 .bytes = firmware});
    machine.writable_ports = {output_port, 0x21, 0xa1, end_port};
    StartingProcessor processor = after_start_up(0, 0);
    processor.rip = 0xfff0;
    previrt::start_up::Segment& code = processor.segments[1];
    code.selector = 0xf000;
    code.base = case_rom;
    const Report report = run(processor, machine.surroundings(), most_steps);
    if (report.reason != nullptr) {
        std::cout << "the interpreter ends the firmware: " << report.reason << '\n';
    }
    Bytes bytes;
    for (const auto& [port, value] : machine.written_ports) {
        if (port == output_port) {
            bytes.push_back(static_cast<std::uint8_t>(value));
        }
    }
    return results_of(bytes);
}

// Empty: they are the same.
std::string difference(const Case& ours, const Result& theirs) {
    constexpr const char* names[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
    std::string text;
    const auto compare = [&text](const char* name, std::uint64_t left, std::uint64_t right) {
        if (left != right) {
            char line[80];
            std::snprintf(line, sizeof(line), "  %s: %#lx expected, %#lx found\n", name, left, right);
            text += line;
        }
    };
    for (unsigned i = 0; i < 8; ++i) {
        compare(names[i], ours.general[i], theirs.general[i]);
    }
    const std::uint64_t flags = compared_flags & ~ours.undefined;
    compare("eflags", ours.flags & flags, theirs.flags & flags);
    compare("memory", ours.sum, theirs.sum);
    return text;
}

void print_case(const Case& one) {
    std::cout << (one.has_32_bits ? "protected mode, eflags " : "real-address mode, eflags ") << std::hex
              << one.flags_before << " general";
    for (const std::uint32_t value : one.general_before) {
        std::cout << ' ' << value;
    }
    std::cout << std::dec << '\n' << one.listing;
}

// After a difference the memory differs too: only the first is told.
std::optional<std::size_t> first_difference(const char* who, const std::vector<Case>& cases,
                                            const std::vector<Result>& results) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (i >= results.size()) {
            std::cout << "case " << i << ": " << who << " did not end it\n";
            print_case(cases[i]);
            return i;
        }
        if (const std::string text = difference(cases[i], results[i]); !text.empty()) {
            std::cout << "case " << i << " by " << who << ":\n" << text;
            print_case(cases[i]);
            return i;
        }
    }
    return {};
}

bool all_kinds_occur(const CaseMaker& maker) {
    constexpr unsigned enough = 100;
    bool all = true;
    for (const InstructionKind& kind : instruction_kinds()) {
        const auto found = maker.executed().find(kind.name);
        const unsigned times = found == maker.executed().end() ? 0 : found->second;
        if (times < enough) {
            std::cout << kind.name << ": executed only " << times << " times\n";
            all = false;
        }
    }
    return all;
}

int compare(std::size_t count, std::uint64_t seed) {
    const Bytes rom(comparison_guest, comparison_guest_end);
    CaseMaker maker(seed, rom, offset_of(comparison_guest_global_table));
    const Bytes memory = maker.memory();
    const std::size_t stubs = offset_of(comparison_guest_stubs);
    std::vector<Case> cases;
    for (std::size_t i = 0; i < count; ++i) {
        const bool has_32_bits = i % 2 != 0;
        const std::size_t leave =
            offset_of(has_32_bits ? comparison_guest_exit_32 : comparison_guest_exit_16);
        cases.push_back(maker.make(has_32_bits, static_cast<std::uint32_t>(leave - stubs + stubs_at)));
    }
    const std::vector<Result> results = run_by_qemu(make_firmware(cases, memory));
    if (first_difference("QEMU", cases, results) || !all_kinds_occur(maker)) {
        return 1;
    }
    // Sums of memory take most of its steps.
    constexpr std::size_t most_interpreted = 20;
    cases.resize(std::min(cases.size(), most_interpreted));
    const std::vector<Result> interpreted = run_by_interpreter(make_firmware(cases, memory));
    if (first_difference("the interpreter", cases, interpreted)) {
        return 1;
    }
    unsigned instructions = 0;
    for (const auto& [name, times] : maker.executed()) {
        instructions += times;
    }
    std::cout << count << " cases with " << instructions << " instructions: the same by QEMU\n";
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    constexpr std::uint64_t usual_cases = 4000;
    try {
        return compare(count > 1 ? std::stoull(arguments[1]) : usual_cases,
                       count > 2 ? std::stoull(arguments[2]) : 1);
    } catch (const std::exception& error) {
        std::cerr << "compare_with_qemu: " << error.what() << '\n';
        return 1;
    }
}
