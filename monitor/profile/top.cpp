// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/top.hpp"

#include "host/input_error.hpp"
#include "monitor/profile/counts_json.hpp"
#include "monitor/profile/profile.hpp"
#include "monitor/running/registry.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace previrt {

namespace {

using Clock = std::chrono::steady_clock;

RunningGuest watched_guest(const std::string& name) {
    RunningGuest guest = running_guest(name);
    if (guest.place.empty()) {
        throw InputError(name + ": it is about to start; try again");
    }
    if (guest.place != "process" && guest.place != "kvm") {
        throw InputError(name + ": it runs on " + guest.place +
                         ", where the VMM's memory is not this machine's; `previrt profile --on " +
                         guest.place + "` reports a whole run");
    }
    return guest;
}

// All that the monitor sends. nullopt: the guest has ended.
std::optional<std::string> receive_counts(const RunningGuest& guest) {
    constexpr std::size_t most_bytes = std::size_t{8} << 20U; // a full table has one
    constexpr int patience = 10'000;                          // ms
    if (!find_running_guest(guest.name)) {
        return std::nullopt;
    }
    const Descriptor connection = connect_to_guest(guest, ClientKind::counts);
    std::string text;
    std::array<char, 65536> block{};
    for (;;) {
        pollfd waiting{.fd = connection.number(), .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, patience);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            throw InputError(guest.name + ": its monitor does not answer");
        }
        const ssize_t got = recv(connection.number(), block.data(), block.size(), 0);
        if (got <= 0) {
            return text;
        }
        text.append(block.data(), static_cast<std::size_t>(got));
        if (text.size() > most_bytes) {
            throw InputError(guest.name + ": its monitor sends more than a table of counts");
        }
    }
}

std::optional<CountedInstructions> read_counts(const RunningGuest& guest) {
    std::optional<std::string> text;
    try {
        text = receive_counts(guest);
    } catch (const InputError&) {
        if (!find_running_guest(guest.name)) {
            return std::nullopt; // it has ended meanwhile
        }
        throw;
    }
    if (!text || (text->empty() && !find_running_guest(guest.name))) {
        return std::nullopt;
    }
    if (text->empty()) {
        throw InputError(guest.name +
                         ": its VMM has no table of counts in memory that the monitor reads (a KVM "
                         "that runs level 0 on the processor); `previrt profile` reports a whole run");
    }
    const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) {
        throw InputError(guest.name + ": its monitor is of another previrt");
    }
    return counts_of_json(json);
}

// The counts between two readings.
CountedInstructions difference(const CountedInstructions& now, const CountedInstructions& before) {
    const auto key = [](const CountedInstruction& row) {
        return std::tuple(row.in, row.address, row.cause, row.kind);
    };
    std::map<decltype(key(CountedInstruction())), std::uint64_t> old;
    for (const CountedInstruction& row : before.rows) {
        old[key(row)] = row.count;
    }
    CountedInstructions counts;
    for (const CountedInstruction& row : now.rows) {
        const auto found = old.find(key(row));
        const std::uint64_t was = found == old.end() ? 0 : found->second;
        if (row.count > was) {
            counts.rows.push_back(row);
            counts.rows.back().count = row.count - was;
            counts.rows.back().cycles = 0;
        }
    }
    return counts;
}

class Screen {
public:
    Screen(const TopOptions& options, const RunningGuest& guest)
        : options_(options), guest_(guest), is_terminal_(isatty(STDOUT_FILENO) != 0) {
        symbols_ = options.symbols.empty() ? find_symbol_file(guest.kernel)
                                           : read_symbol_file(options.symbols, guest.kernel);
        symbols_.has_lines = false; // to find them takes longer than an interval
        if (symbols_.path.empty()) {
            std::cerr << "previrt: " << say_lack_of_symbols(guest.kernel) << '\n';
        }
    }

    void show(const CountedInstructions& counts, double seconds) const {
        const Profile profile = make_profile(counts, symbols_, ProfileBy::count);
        if (is_terminal_) {
            std::cout << "\033[H\033[J";
        }
        std::cout << guest_.name << " on " << guest_.place << ", a second:\n";
        std::array<std::uint64_t, cause_count> sums{};
        for (const ProfileRow& row : profile.rows) {
            sums.at(static_cast<std::size_t>(row.counted.cause)) += row.counted.count;
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (sums.at(i) != 0) {
                print_rate(sums.at(i), seconds);
                std::cout << cause_names[i] << '\n';
            }
        }
        std::cout << '\n';
        for (std::size_t i = 0; i < std::min(profile.rows.size(), options_.rows); ++i) {
            const ProfileRow& row = profile.rows[i];
            print_rate(row.counted.count, seconds);
            std::cout << std::left << std::setw(15)
                      << cause_names[static_cast<std::size_t>(row.counted.cause)] << std::setw(28)
                      << (row.counted.kind.empty() ? "-" : row.counted.kind) << row.instruction() << '\n';
        }
        std::cout << (is_terminal_ ? "" : "\n") << std::flush;
    }

private:
    static void print_rate(std::uint64_t count, double seconds) {
        std::cout << std::right << std::setw(12) << std::fixed << std::setprecision(1)
                  << static_cast<double>(count) / seconds << "  ";
    }

    const TopOptions& options_;
    const RunningGuest& guest_;
    bool is_terminal_;
    SymbolFile symbols_;
};

} // namespace

int watch_instructions(const TopOptions& options) {
    const RunningGuest guest = watched_guest(options.name);
    const Screen screen(options, guest);
    std::optional<CountedInstructions> before = read_counts(guest);
    auto read_at = Clock::now();
    for (unsigned i = 0; before && std::cout && (options.times == 0 || i < options.times); ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
        std::optional<CountedInstructions> now = read_counts(guest);
        const auto time = Clock::now();
        if (now) {
            screen.show(difference(*now, *before), std::chrono::duration<double>(time - read_at).count());
        }
        before = std::move(now);
        read_at = time;
    }
    if (!before) {
        std::cerr << "previrt: " << guest.name << " has ended\n";
    }
    return 0;
}

} // namespace previrt
