// SPDX-License-Identifier: BSD-2-Clause
#include "bench/kvm_exits.hpp"

#include "bench/operations.hpp"
#include "bench/results/save_result.hpp"
#include "guest/userland/initrd.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/mode.hpp"

#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace previrt {

namespace {

using Counts = std::map<std::string, double>;

// One operation, with its number of repetitions in the guest.
struct Marked {
    std::string name;
    double times;
    Counts exits;
};

// KVM's names for the sum of all exits, and for those of IN and OUT.
constexpr const char* all_exits = "exits";
constexpr const char* accesses = "io_exits";

double count_of(const Marked& marked, const char* name) {
    const auto found = marked.exits.find(name);
    return found == marked.exits.end() ? 0 : found->second;
}

std::string place() {
    try {
        return find_kvm_mode(open_kvm()) == KvmMode::native ? "kvm" : "kvm-nested";
    } catch (const InputError&) {
        return "kvm-nested";
    }
}

std::vector<Marked> read_marks(const std::string& console) {
    std::vector<Marked> marks;
    std::istringstream lines(console);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        Marked marked{};
        if (words >> word >> marked.name >> marked.times && word == "marked" && marked.times > 0) {
            marks.push_back(std::move(marked));
        }
    }
    return marks;
}

Counts difference(const nlohmann::json& before, const nlohmann::json& after) {
    Counts counts;
    for (const auto& [name, value] : after.items()) {
        counts[name] = value.get<double>() - before.value(name, 0.0);
    }
    return counts;
}

// The marks themselves cause exits: as many as around the first operation, which does nothing.
std::vector<Marked> join(std::vector<Marked> marks, const nlohmann::json& counters) {
    const nlohmann::json codes = counters.value("post_codes", nlohmann::json::array());
    if (marks.empty() || codes.size() != 2 * marks.size()) {
        throw InputError("the guest marked " + std::to_string(marks.size()) +
                         " operations, and the monitor saw " + std::to_string(codes.size()) + " marks");
    }
    for (std::size_t i = 0; i < marks.size(); ++i) {
        marks[i].exits = difference(codes[2 * i].at("kvm"), codes[(2 * i) + 1].at("kvm"));
    }
    const Counts nothing = marks.front().exits;
    marks.erase(marks.begin());
    for (Marked& marked : marks) {
        for (auto& [name, count] : marked.exits) {
            const auto around = nothing.find(name);
            count = (count - (around == nothing.end() ? 0 : around->second)) / marked.times;
        }
    }
    return marks;
}

class ExitBench {
public:
    explicit ExitBench(const BenchOptions& options)
        : options_(options), kernel_(build_measured_kernel(options)),
          initrd_(make_initrd("exits", {{"/run-me", PREVIRT_EXITS}})), place_(place()) {}

    void run() {
        const std::vector<Marked> plain = measure(false);
        const std::vector<Marked> ours = measure(true);
        print(plain, ours);
        save_result(options_, json(plain, ours));
    }

private:
    [[nodiscard]] std::vector<Marked> measure(bool rewrite) const {
        std::cerr << "previrt: counting exits on " << place_ << ": "
                  << (rewrite ? "with the in-place VMM" : "unrewritten") << '\n';
        const std::string stats = directory_.path() + "/stats.json";
        RunOptions options = counted_run(kernel_, initrd_);
        options.on = place_;
        options.deterministic = place_ != "kvm";
        options.rewrite = rewrite;
        options.stats = stats;
        std::string console;
        options.console = [&](std::string_view text) { console += text; };
        if (run_guest(options) != guest_ended) {
            throw InputError(kernel_ + ": the guest did not run to its end; its console:\n" + console);
        }
        return join(read_marks(console), nlohmann::json::parse(read_text(stats)));
    }

    void print(const std::vector<Marked>& plain, const std::vector<Marked>& ours) const {
        std::printf("exits of Linux %s for one operation, on %s\n\n", options_.version.c_str(),
                    place_.c_str());
        std::printf("%-18s %12s %9s %13s %9s %6s\n", "", "unrewritten:", "of them",
                    "in-place VMM:", "of them", "");
        std::printf("%-18s %12s %9s %13s %9s %6s\n", "", "exits", "accesses", "exits", "accesses", "ratio");
        for (std::size_t i = 0; i < ours.size(); ++i) {
            const double before = count_of(plain[i], accesses);
            const double after = count_of(ours[i], accesses);
            std::printf("%-18s %12.3f %9.3f %13.3f %9.3f", ours[i].name.c_str(),
                        count_of(plain[i], all_exits), before, count_of(ours[i], all_exits), after);
            if (after > 0) {
                std::printf(" %6.1f\n", before / after);
            } else {
                std::printf(" %6s\n", before > 0 ? "all" : "-");
            }
        }
    }

    [[nodiscard]] nlohmann::ordered_json json(const std::vector<Marked>& plain,
                                              const std::vector<Marked>& ours) const {
        nlohmann::ordered_json json{{"title", "Exits from a guest that the processor virtualizes"},
                                    {"version", options_.version},
                                    {"place", place_},
                                    {"unit", "exits"}};
        for (std::size_t i = 0; i < ours.size(); ++i) {
            json["operations"][ours[i].name] = {{"unrewritten", plain[i].exits}, {"in_place", ours[i].exits}};
        }
        return json;
    }

    const BenchOptions& options_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::string initrd_;
    std::string place_;
};

} // namespace

void bench_kvm_exits(const BenchOptions& options) {
    ExitBench(options).run();
}

} // namespace previrt
