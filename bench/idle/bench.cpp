// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/bench.hpp"

#include "bench/idle/guest.hpp"
#include "bench/idle/network.hpp"
#include "bench/idle/process_table.hpp"
#include "bench/operations.hpp"
#include "bench/results/spread.hpp"
#include "guest/userland/initrd.hpp"
#include "host/descriptor_limit.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/network/switch/learning_switch.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <thread>

namespace previrt {

namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr unsigned starting_at_once = 4;
constexpr auto up_within = 120s;
constexpr auto comes_to_rest_within = 20s; // a monitor waits 15 s for a prompt before it reads its input
constexpr auto answers_within = 5s;
constexpr const char* guest_memory = "64M";
constexpr const char* word = "idle: up";

double seconds(Nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

double mib(double bytes) {
    return bytes / (1U << 20U);
}

std::string idle_initrd() {
    return make_initrd("idle", {{"/run-me", in_source_tree("bench/guest/idle.sh")}});
}

// Of a guest's processes: the monitor's value, and that of all others.
template <typename Value>
struct Shared {
    Value monitor{};
    Value others{};

    [[nodiscard]] Value sum() const { return monitor + others; }
};

class IdleBench {
public:
    explicit IdleBench(const IdleBenchOptions& options)
        : options_(options), program_{.arguments = {program_beside_this("previrt"), "run", "--on", options.on,
                                                    "--memory", guest_memory, "--initrd", idle_initrd(),
                                                    build_measured_kernel(options.kernel)},
                                      .directory = {},
                                      .environment = {}} {
        raise_descriptor_limit(); // an output for each guest
        if (options.network && options.guests >= LearningSwitch::most_clients) {
            throw InputError("--guests: with --net at most " +
                             std::to_string(LearningSwitch::most_clients - 1) +
                             ", since a switch has a port for each, and one for this program");
        }
        if (options.network) {
            network_.emplace();
        }
    }

    void run() {
        const std::uint64_t before = available_memory();
        start();
        std::this_thread::sleep_for(comes_to_rest_within);
        watch();
        measure_memory();
        fell_by_ = static_cast<double>(before) - static_cast<double>(available_memory());
        if (network_) {
            ping_all(*network_);
        }
        for (const IdleGuest& guest : guests_) {
            guest.require_running();
        }
        print();
        if (!options_.kernel.json.empty()) {
            write_text(options_.kernel.json, json().dump(2) + "\n");
        }
    }

private:
    using Times = std::map<pid_t, Nanoseconds>;

    void start() {
        const auto begin = IdleGuest::Clock::now();
        std::vector<IdleGuest*> starting;
        while (guests_.size() < options_.guests || !starting.empty()) {
            if (guests_.size() < options_.guests && starting.size() < starting_at_once) {
                starting.push_back(&guests_.emplace_back(program_of_next(), word));
                continue;
            }
            read_outputs(starting);
            if (std::erase_if(starting, [](const IdleGuest* guest) { return guest->is_up(); }) != 0) {
                say_how_many(guests_.size() - starting.size());
            }
        }
        all_up_after_ = IdleGuest::Clock::now() - begin;
    }

    [[nodiscard]] Program program_of_next() const {
        Program program = program_;
        std::string append = "quiet";
        if (network_) {
            const auto guest = static_cast<echo::Station>(guests_.size() + 1);
            append += " idle_address=" + echo::text_of_address(guest);
            program.arguments.insert(program.arguments.end(), {"--net", network_->choice_of(guest)});
        }
        program.arguments.insert(program.arguments.end(), {"--append", append});
        return program;
    }

    void read_outputs(const std::vector<IdleGuest*>& guests) const {
        std::vector<pollfd> waiting;
        waiting.reserve(guests.size() + 1);
        for (const IdleGuest* const guest : guests) {
            if (guest->age() > up_within) {
                throw InputError("a guest is not up after " + std::to_string(up_within.count()) +
                                 " s; it said:\n" + guest->said());
            }
            waiting.push_back({.fd = guest->output(), .events = POLLIN, .revents = 0});
        }
        if (network_) {
            waiting.push_back({.fd = network_->end(), .events = POLLIN, .revents = 0});
        }
        poll(waiting.data(), waiting.size(), 1000);
        if (network_ && waiting.back().revents != 0) {
            (void)network_->serve(); // nobody has been asked yet
        }
        for (std::size_t i = 0; i < guests.size(); ++i) {
            if (waiting[i].revents != 0) {
                guests[i]->read_output();
            }
        }
    }

    void say_how_many(std::size_t up) {
        if (up == options_.guests || up >= said_ + 10) {
            said_ = up;
            std::cerr << "previrt: " << up << " of " << options_.guests << " guests are up\n";
        }
    }

    void watch() {
        const auto begin = IdleGuest::Clock::now();
        const Times first = read_times();
        std::this_thread::sleep_for(std::chrono::seconds(options_.seconds));
        const Times second = read_times();
        watched_for_ = IdleGuest::Clock::now() - begin;
        for (const auto& [process, time] : second) {
            const auto known = first.find(process);
            const Nanoseconds used = time - (known == first.end() ? Nanoseconds{} : known->second);
            (is_monitor(process) ? used_.monitor : used_.others) += used;
        }
    }

    [[nodiscard]] bool is_monitor(pid_t process) const {
        return std::ranges::find(guests_, process, &IdleGuest::process) != guests_.end();
    }

    [[nodiscard]] Times read_times() const {
        Times times;
        const ProcessTable table;
        for (const IdleGuest& guest : guests_) {
            for (const pid_t process : table.family_of(guest.process())) {
                times[process] = processor_time(process);
            }
        }
        return times;
    }

    void measure_memory() {
        const ProcessTable table;
        for (const IdleGuest& guest : guests_) {
            for (const pid_t process : table.family_of(guest.process())) {
                const MemoryUse use = memory_use(process);
                const auto pages = static_cast<double>(use.pages.value_or(0));
                (process == guest.process() ? pages_.monitor : pages_.others) += pages;
                hidden_ += use.pages ? 0 : 1;
                page_tables_ += static_cast<double>(use.page_tables);
                others_ += process == guest.process() ? 0 : 1;
            }
        }
    }

    // One after the other: each sleeps until its ping comes.
    void ping_all(const IdleNetwork& network) {
        for (unsigned guest = 1; guest <= guests_.size(); ++guest) {
            if (const auto took = network.ping(static_cast<echo::Station>(guest), answers_within)) {
                answered_after_.push_back(seconds(*took));
            }
        }
    }

    [[nodiscard]] double median_launch() const {
        std::vector<double> took;
        for (const IdleGuest& guest : guests_) {
            took.push_back(seconds(guest.took()));
        }
        return spread_of(took).median;
    }

    [[nodiscard]] double median_answer() const {
        return answered_after_.empty() ? 0 : spread_of(answered_after_).median;
    }
    [[nodiscard]] double longest_answer() const {
        return answered_after_.empty() ? 0 : std::ranges::max(answered_after_);
    }

    [[nodiscard]] double a_guest(double sum) const { return sum / options_.guests; }
    [[nodiscard]] double percent(Nanoseconds used) const {
        return 100 * seconds(used) / seconds(watched_for_);
    }

    void print() const {
        std::printf("%u guests of %s on %s: up after %.2f s (median), all after %.1f s\n", options_.guests,
                    guest_memory, options_.on.c_str(), median_launch(), seconds(all_up_after_));
        std::printf(
            "processor time  %.3f s in %.1f s: %.2f %% of one processor; the monitors' %.2f %%, their "
            "processes' %.2f %%\n",
            seconds(used_.sum()), seconds(watched_for_), percent(used_.sum()), percent(used_.monitor),
            percent(used_.others));
        if (hidden_ == 0) {
            std::printf(
                "memory a guest  %.2f MiB: the monitor's %.2f, that of its %.1f processes %.2f, and page "
                "tables %.2f\n",
                mib(a_guest(pages_.sum() + page_tables_)), mib(a_guest(pages_.monitor)), a_guest(others_),
                mib(a_guest(pages_.others)), mib(a_guest(page_tables_)));
        } else {
            std::printf(
                "memory a guest  without user namespaces this host shows root only what its %.1f processes "
                "have; the monitor has %.2f MiB, and page tables %.2f\n",
                a_guest(others_), mib(a_guest(pages_.monitor)), mib(a_guest(page_tables_)));
        }
        std::printf("the machine     %.2f MiB less are available for each guest (others' part in that counts "
                    "too)\n",
                    mib(a_guest(fell_by_)));
        if (network_) {
            std::printf("ping            %zu of %u answer, after %.2f ms (median), %.2f ms (longest)\n",
                        answered_after_.size(), options_.guests, 1e3 * median_answer(),
                        1e3 * longest_answer());
        }
    }

    [[nodiscard]] nlohmann::json json() const {
        return {{"on", options_.on},
                {"guests", options_.guests},
                {"guest_memory", guest_memory},
                {"launch_seconds", median_launch()},
                {"all_up_seconds", seconds(all_up_after_)},
                {"watched_seconds", seconds(watched_for_)},
                {"processor_seconds",
                 {{"monitors", seconds(used_.monitor)}, {"processes", seconds(used_.others)}}},
                {"bytes_a_guest",
                 {{"monitor", a_guest(pages_.monitor)},
                  {"processes", hidden_ == 0 ? nlohmann::json(a_guest(pages_.others)) : nlohmann::json()},
                  {"page_tables", a_guest(page_tables_)},
                  {"machine", a_guest(fell_by_)}}},
                {"processes_a_guest", a_guest(others_)},
                {"ping", network_ ? nlohmann::json({{"answered", answered_after_.size()},
                                                    {"median_seconds", median_answer()},
                                                    {"longest_seconds", longest_answer()}})
                                  : nlohmann::json()}};
    }

    const IdleBenchOptions& options_;
    Program program_;
    std::optional<IdleNetwork> network_;
    std::list<IdleGuest> guests_; // they end before their network
    std::size_t said_ = 0;        // the number of guests that were up
    Nanoseconds all_up_after_{};
    Nanoseconds watched_for_{};
    Shared<Nanoseconds> used_;
    Shared<double> pages_; // bytes, of all guests
    double page_tables_ = 0;
    double others_ = 0;   // processes that are no monitors
    unsigned hidden_ = 0; // of them, whose memory is not shown
    double fell_by_ = 0;
    std::vector<double> answered_after_; // seconds, of each guest that answered
};

} // namespace

void bench_idle_guests(const IdleBenchOptions& options) {
    IdleBench(options).run();
}

} // namespace previrt
