// SPDX-License-Identifier: BSD-2-Clause
// Measures the cost of padding a site on bare metal: each instruction alone, behind redundant CS prefixes
// (previrt's padding), and in front of one long NOP or several NOPs of one byte.
// Not by Google Benchmark: the variants are timed in turn within each repetition, in TSC cycles, beside a
// count of instructions; Google Benchmark times one function after the other, in nanoseconds.
#include "bench/single_step.hpp"
#include "previrt/site_kinds.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <sys/utsname.h>
#include <utility>
#include <vector>
#include <x86intrin.h>

namespace previrt {

namespace {

enum Variant : std::uint8_t { plain, prefixes, long_nop, nops, variant_count };
constexpr std::array<const char*, variant_count> variant_names = {"plain", "prefixes", "long NOP", "NOPs"};

consteval unsigned site_bytes_of(SiteKind kind) {
    return find_site_kind(static_cast<std::uint8_t>(kind))->replacement_bytes;
}
constexpr unsigned call_bytes = site_bytes_of(SiteKind::rdtsc);
constexpr unsigned load_bytes = site_bytes_of(SiteKind::mov_from_segment);
constexpr unsigned store_bytes = site_bytes_of(SiteKind::cli);

constexpr unsigned hot_sites = 64;
// Padded to 8 bytes, 64 KiB of code: more than a first-level instruction cache of 32 KiB.
constexpr unsigned cold_sites = 8192;

struct Instruction {
    std::string name;
    unsigned sites; // in one pass of a block
    unsigned site_bytes;
    std::array<Block, variant_count> blocks;
};

asm(R"(
.macro previrt_bench_site variant, size, instruction:vararg
	.if \variant == 1
	.skip \size - (7702f - 7701f), 0x2e
	.endif
	7701: \instruction
	7702:
	.if \variant == 2
	.nops \size - (7702b - 7701b)
	.endif
	.if \variant == 3
	.skip \size - (7702b - 7701b), 0x90
	.endif
.endm
)");

template <typename Code, Variant variant>
[[gnu::noinline]] CodeRange run(std::uint64_t passes) {
    return Code{}.template operator()<variant>(passes);
}

template <typename Code>
Instruction instruction(const char* name, unsigned sites, unsigned site_bytes, Code /*code*/) {
    return {name,
            sites,
            site_bytes,
            {run<Code, plain>, run<Code, prefixes>, run<Code, long_nop>, run<Code, nops>}};
}

// One padded instruction in the body of PREVIRT_BLOCK.
#define PREVIRT_SITE(text) "previrt_bench_site %c[variant], %c[site_bytes], " text "\n"

// The code of an Instruction. `setup` runs once a call, `body` is one site with its companions; both may
// change rax, rbx, rcx, rdx and the flags, and use the stack and the memory at rdi.
#define PREVIRT_BLOCK(name, sites, bytes, setup, body)                                                       \
    instruction(name, sites, bytes, []<Variant variant>(std::uint64_t passes) {                              \
        alignas(64) static std::array<std::uint64_t, 8> memory{};                                            \
        CodeRange range{};                                                                                   \
        asm volatile(                                                                                        \
            "lea -256(%%rsp), %%rsp\n" /* past the red zone */                                               \
            "lea 7711f(%%rip), %[begin]\n"                                                                   \
            "lea 7712f(%%rip), %[end]\n" setup "test %[passes], %[passes]\n"                                 \
            "jz 7713f\n"                                                                                     \
            ".balign 64\n"                                                                                   \
            "7711: .rept %c[site_count]\n" body ".endr\n"                                                    \
            "7712: dec %[passes]\n"                                                                          \
            "jnz 7711b\n"                                                                                    \
            "7713: lea 256(%%rsp), %%rsp\n"                                                                  \
            : [begin] "=&r"(range.begin), [end] "=&r"(range.end), [passes] "+&r"(passes)                     \
            : "D"(memory.data()), [variant] "i"(variant), [site_bytes] "i"(bytes), [site_count] "i"(sites)   \
            : "rax", "rbx", "rcx", "rdx", "memory", "cc");                                                   \
        return range;                                                                                        \
    })

// The usual case: few enough sites for every cache.
#define PREVIRT_HOT(name, bytes, setup, body) PREVIRT_BLOCK(name, hot_sites, bytes, setup, body)

#define PREVIRT_SELECTOR "mov %%ss, %%eax\n"

std::vector<Instruction> all_instructions() {
    return {
        PREVIRT_HOT("clc (decodes as cli)", store_bytes, "", PREVIRT_SITE("clc")),
        PREVIRT_BLOCK("clc, 8192 sites on end", cold_sites, store_bytes, "", PREVIRT_SITE("clc")),
        PREVIRT_HOT("pushfq; popfq (both sites)", call_bytes, "",
                    PREVIRT_SITE("pushfq") PREVIRT_SITE("popfq")),
        PREVIRT_HOT("pushfq (; pop %rax)", call_bytes, "", PREVIRT_SITE("pushfq") "pop %%rax\n"),
        PREVIRT_HOT("popfq (push %rcx;)", call_bytes, "pushfq\n pop %%rcx\n",
                    "push %%rcx\n" PREVIRT_SITE("popfq")),
        PREVIRT_HOT("smsw %eax", load_bytes, "", PREVIRT_SITE("smsw %%eax")),
        PREVIRT_HOT("mov %ds, %eax", load_bytes, "", PREVIRT_SITE("mov %%ds, %%eax")),
        PREVIRT_HOT("mov %eax, %ds", call_bytes, PREVIRT_SELECTOR, PREVIRT_SITE("mov %%eax, %%ds")),
        PREVIRT_HOT("sgdt (mem)", call_bytes, "", PREVIRT_SITE("sgdt (%%rdi)")),
        PREVIRT_HOT("sldt %eax", load_bytes, "", PREVIRT_SITE("sldt %%eax")),
        PREVIRT_HOT("str %eax", load_bytes, "", PREVIRT_SITE("str %%eax")),
        PREVIRT_HOT("lar %eax, %ecx", call_bytes, PREVIRT_SELECTOR, PREVIRT_SITE("lar %%eax, %%ecx")),
        PREVIRT_HOT("lsl %eax, %ecx", call_bytes, PREVIRT_SELECTOR, PREVIRT_SITE("lsl %%eax, %%ecx")),
        PREVIRT_HOT("verr %ax", call_bytes, PREVIRT_SELECTOR, PREVIRT_SITE("verr %%ax")),
        PREVIRT_HOT("verw %ax", call_bytes, PREVIRT_SELECTOR, PREVIRT_SITE("verw %%ax")),
        PREVIRT_HOT("rdfsbase %rax", load_bytes, "", PREVIRT_SITE("rdfsbase %%rax")),
        PREVIRT_HOT("rdtsc", call_bytes, "", PREVIRT_SITE("rdtsc")),
        PREVIRT_HOT("rdpid %rax", load_bytes, "", PREVIRT_SITE("rdpid %%rax")),
        PREVIRT_HOT("cpuid (xor %eax, %eax;)", call_bytes, "", "xor %%eax, %%eax\n" PREVIRT_SITE("cpuid")),
        PREVIRT_HOT("xgetbv", call_bytes, "xor %%ecx, %%ecx\n", PREVIRT_SITE("xgetbv")),
        PREVIRT_HOT("mov %rax, (mem): page table", call_bytes, "", PREVIRT_SITE("mov %%rax, (%%rdi)")),
        PREVIRT_HOT("movl (mem), %eax: MMIO", call_bytes, "", PREVIRT_SITE("movl (%%rdi), %%eax")),
    };
}

// All per site.
struct Figures {
    double cycles = 0;
    double nanoseconds = 0;
    double executed = 0;
};

struct Result {
    Instruction instruction;
    std::string skipped; // the reason, or empty
    std::array<Figures, variant_count> variants;
};

Figures time_block(Block block, std::uint64_t passes) {
    unsigned processor = 0;
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t first_cycle = __rdtscp(&processor);
    block(passes);
    const std::uint64_t last_cycle = __rdtscp(&processor);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    return {.cycles = static_cast<double>(last_cycle - first_cycle), .nanoseconds = time.count()};
}

// Long compared with reading the clock, short compared with a time slice: most repetitions then have no
// interrupt.
std::uint64_t choose_passes(Block block) {
    constexpr double repetition_nanoseconds = 50'000;
    std::uint64_t passes = 1;
    while (time_block(block, passes).nanoseconds < repetition_nanoseconds) {
        passes *= 2;
    }
    return passes;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void measure_time(Result& result, unsigned repetitions) {
    const std::uint64_t passes = choose_passes(result.instruction.blocks[plain]);
    const double sites = static_cast<double>(passes) * result.instruction.sites;
    std::array<std::vector<double>, variant_count> cycles;
    std::array<std::vector<double>, variant_count> nanoseconds;
    for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
        for (unsigned variant = 0; variant < variant_count; ++variant) {
            const Figures figures = time_block(result.instruction.blocks[variant], passes);
            cycles[variant].push_back(figures.cycles / sites);
            nanoseconds[variant].push_back(figures.nanoseconds / sites);
        }
    }
    for (unsigned variant = 0; variant < variant_count; ++variant) {
        result.variants[variant].cycles = median(cycles[variant]);
        result.variants[variant].nanoseconds = median(nanoseconds[variant]);
    }
}

// Also tries the instruction: returns the reason why it cannot be measured, or an empty string.
std::string count_executed(Result& result) {
    for (unsigned variant = 0; variant < variant_count; ++variant) {
        const Steps steps = single_step(result.instruction.blocks[variant]);
        if (steps.fault != 0) {
            return std::string(variant_names[variant]) + " faults: " + strsignal(steps.fault);
        }
        // A single step executes an emulated instruction and the next real one.
        if (steps.count < result.instruction.sites) {
            return "faults, and the kernel emulates it (UMIP)";
        }
        result.variants[variant].executed = static_cast<double>(steps.count) / result.instruction.sites;
    }
    return {};
}

Result measure(Instruction instruction, unsigned repetitions) {
    Result result{.instruction = std::move(instruction), .skipped = {}, .variants = {}};
    result.skipped = count_executed(result);
    if (result.skipped.empty()) {
        measure_time(result, repetitions);
    }
    return result;
}

// The first line of /proc/cpuinfo with this key.
std::string cpuinfo(const std::string& key) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key + "\t")) {
            return line.substr(line.find(": ") + 2);
        }
    }
    return "unknown";
}

nlohmann::ordered_json machine() {
    utsname system{};
    uname(&system);
    return {{"cpu", cpuinfo("model name")},
            {"cpu_family", cpuinfo("cpu family")},
            {"cpu_model", cpuinfo("model")},
            {"cpu_stepping", cpuinfo("stepping")},
            {"kernel", std::string(system.sysname) + " " + system.release}};
}

nlohmann::ordered_json to_json(const Result& result) {
    nlohmann::ordered_json json = {{"instruction", result.instruction.name},
                                   {"sites", result.instruction.sites},
                                   {"site_bytes", result.instruction.site_bytes}};
    if (!result.skipped.empty()) {
        json["skipped"] = result.skipped;
        return json;
    }
    for (unsigned variant = 0; variant < variant_count; ++variant) {
        const Figures& figures = result.variants[variant];
        json["variants"][variant_names[variant]] = {{"tsc_cycles", figures.cycles},
                                                    {"nanoseconds", figures.nanoseconds},
                                                    {"executed_instructions", figures.executed}};
    }
    return json;
}

void write_json(const std::string& path, const std::vector<Result>& results, unsigned repetitions) {
    nlohmann::ordered_json json = {{"machine", machine()}, {"repetitions", repetitions}};
    for (const Result& result : results) {
        json["results"].push_back(to_json(result));
    }
    std::ofstream file(path);
    file << json.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
}

constexpr int bad_input = 2;
constexpr int name_width = 29;

void print_header(unsigned repetitions) {
    std::cout << cpuinfo("model name") << ", family " << cpuinfo("cpu family") << " model "
              << cpuinfo("model") << "\nPer site: TSC cycles (median of " << repetitions
              << " repetitions) and executed instructions (counted by single steps)\n\n"
              << std::left << std::setw(name_width) << "instruction" << std::right << std::setw(6) << "bytes";
    for (const char* const unit : {" cycles", " executed"}) {
        std::cout << " |";
        for (const char* const name : variant_names) {
            std::cout << std::setw(9) << name;
        }
        std::cout << unit;
    }
    std::cout << '\n';
}

void print_row(const Result& result) {
    std::cout << std::left << std::setw(name_width) << result.instruction.name << std::right << std::setw(6)
              << result.instruction.site_bytes << " |";
    if (!result.skipped.empty()) {
        std::cout << " skipped: " << result.skipped << '\n';
        return;
    }
    std::cout << std::fixed << std::setprecision(2);
    for (const Figures& figures : result.variants) {
        std::cout << std::setw(9) << figures.cycles;
    }
    std::cout << "        |" << std::defaultfloat << std::setprecision(6);
    for (const Figures& figures : result.variants) {
        std::cout << std::setw(9) << figures.executed;
    }
    std::cout << '\n' << std::flush;
}

int main(int argc, char** argv) {
    CLI::App app("What the padding of a site costs on bare metal. Run it pinned: taskset -c 1 bench-padding",
                 "bench-padding");
    std::string json_path;
    unsigned repetitions = 501;
    app.add_option("--json", json_path,
                   "Also write all figures, with nanoseconds, and the machine to this file");
    app.add_option("--repetitions", repetitions, "Timings of each variant; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_input;
    }

    print_header(repetitions);
    std::vector<Result> results;
    for (const Instruction& instruction : all_instructions()) {
        results.push_back(measure(instruction, repetitions));
        print_row(results.back());
    }
    if (!json_path.empty()) {
        write_json(json_path, results, repetitions);
    }
    return 0;
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    try {
        return previrt::main(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "bench-padding: " << error.what() << '\n';
        return previrt::bad_input;
    }
}
