// SPDX-License-Identifier: BSD-2-Clause
// stub_events PREVIRT VMM GUEST
// With --isolate an event may stop a user process at any instruction of its stub. This delivers one at each,
// on each way through the stub, and the guest must not notice: it checks all that its program has
// (tests/guests/state_kept.c). The instructions are those that the VMM's image has, and a debug register
// stops the process there. A timer would take hours to meet most of them.
#include "backends/process/contract/layout.hpp"
#include "backends/process/contract/user_state_offsets.h"
#include "tests/backends/process/stub_image.hpp"
#include "tests/backends/process/traced_run.hpp"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace previrt::process;

// A way through the stub, of which an instruction is a part.
std::string way_of(const StubImage& stub, const TracedRun::Stop& stop) {
    const std::uint64_t address = stop.address();
    if (stub.is_within(address, "user_stub", "user_stub_signal")) {
        return "in by a call";
    }
    if (stub.is_within(address, "user_stub_signal", "user_stub_stop")) {
        return "in by a signal";
    }
    constexpr std::uint64_t byte = 0xff;
    const bool arms_stack = (stop.read(USER_ARMS_STACK) & byte) != 0;
    const std::string stack = std::string(", the signal stack is ") + (arms_stack ? "to be armed" : "armed");
    if (stub.is_within(address, "user_stub_stop", "user_stub_stopped")) {
        switch (stop.registers().rdi) {
        case USER_STOP_BY_CALL:
            return "a stop by a call";
        case USER_STOP_BY_SIGNAL:
            return "a stop by a signal";
        case USER_STOP_DONE:
            return "a stop behind all operations";
        case USER_STOP_FAILED:
            return "a stop behind a failed operation" + stack;
        default:
            return "a stop by nothing known";
        }
    }
    return (stop.read(USER_OPERATION_COUNT) != 0 ? "out with operations" : "out without operations") + stack;
}

// Of an instruction that no event of the VMM's can meet.
std::string reason_to_leave_out(const StubImage& stub, std::uint64_t address) {
    return stub.is_within(address, "user_stub_announce", "user_stub_operations_done")
               ? "the template alone announces itself, and it never runs the guest's program"
               : "";
}

class Events : public TracedRun::Observer {
public:
    explicit Events(const StubImage& stub) : stub_(stub), target_(stub.instructions.begin()) {}

    TracedRun::Breakpoints breakpoints_of_new() override { return {stub_.at("user_stub_operations_done")}; }

    int stopped(const TracedRun::Stop& stop) override {
        // Neither the template nor a process in the making comes here.
        if (stop.address() == stub_.at("user_stub_operations_done")) {
            count_exit();
        }
        calls_come_here_ = calls_come_here_ || stop.address() == stub_.at("user_stub");
        const int sent = signal_at(stop);
        if (armed_[stop.process()] != target()) {
            armed_[stop.process()] = target();
            TracedRun::set_breakpoints(stop.process(), {stub_.at("user_stub_operations_done"), target(),
                                                        is_on_exit() ? first_place() : 0,
                                                        is_on_exit() ? stub_.at("user_stub_stopped") : 0});
        }
        return sent;
    }

    [[nodiscard]] bool has_finished() const { return target_ == stub_.instructions.end(); }
    [[nodiscard]] std::string place() const {
        return has_finished() ? "behind the last instruction" : stub_.name(target());
    }

    // Empty if all is well.
    [[nodiscard]] std::string missed() const;
    void print() const;

private:
    // The program is a loop of some thirty exits to it, and all ways through the stub occur in each round.
    static constexpr unsigned exits_for_all = 80;
    // The second event comes when the process is back from the first.
    static constexpr unsigned most_events = 2;
    // More events behind one on the way out: each as soon as the VMM has the one before, so that the process
    // never gets on. All their frames together would fill either stack. The VMM sends none to a process that
    // it has put back.
    static constexpr unsigned most_in_a_row = 32;
    // Of two events in one way in: at each call of a round.
    static constexpr unsigned most_pairs = 12;

    [[nodiscard]] std::uint64_t target() const { return has_finished() ? 0 : target_->first; }

    [[nodiscard]] bool is_on_exit() const {
        return !has_finished() && target() >= stub_.at("user_stub_stopped");
    }
    [[nodiscard]] bool is_in_handler() const {
        return stub_.is_within(target(), "user_stub_signal", "user_stub_stop");
    }

    // One event can bring the process to the place of the next. An event on the way in by a call makes it go
    // out, to enter once more. One on the way out makes it come in, without the signal stack.
    [[nodiscard]] std::uint64_t first_place() const {
        return is_on_exit() ? std::prev(stub_.instructions.find(stub_.at("user_stub_signal")))->first
                            : stub_.at("user_stub_operations_done");
    }
    [[nodiscard]] std::string second_way() const {
        return is_on_exit() ? "out to enter once more" : "in by a signal on the way out";
    }

    // The program makes each of its calls once in a round, so that all of them are rewritten in the same
    // round.
    void count_exit() {
        if (calls_come_here_ && !has_finished() && ++exits_ == exits_for_all) {
            exits_ = 0;
            ++target_;
        }
        ++all_exits_;
    }

    int signal_at(const TracedRun::Stop& stop) {
        if ((is_on_exit() || is_in_handler()) && stop.address() == first_place()) {
            // The process comes here again behind that event, and goes on.
            is_put_back_ = !is_put_back_ && events_before_[target()] < most_pairs;
            is_second_due_ = is_put_back_;
            events_before_[target()] += is_put_back_ ? 1 : 0;
            return is_put_back_ ? user_signal : 0;
        }
        if (left_in_row_ != 0 && stop.address() == stub_.at("user_stub_stopped") && is_to_go_on(stop)) {
            --left_in_row_;
            ++all_in_rows_;
            return user_signal;
        }
        if (stop.address() != target()) {
            return 0;
        }
        const bool is_second = is_second_due_;
        is_second_due_ = false;
        unsigned& count = sent_[stop.address()][is_second ? second_way() : way_of(stub_, stop)];
        if (count == (is_second ? most_pairs : most_events)) {
            return 0;
        }
        ++count;
        left_in_row_ = is_on_exit() && !is_put_back_ ? most_in_a_row : 0;
        return user_signal;
    }

    // The VMM has answered its stop.
    static bool is_to_go_on(const TracedRun::Stop& stop) { return stop.registers().rax == 0; }

    const StubImage& stub_;
    std::map<std::uint64_t, std::string>::const_iterator target_;
    unsigned exits_ = 0;
    unsigned all_exits_ = 0;
    bool calls_come_here_ = false;
    bool is_put_back_ = false;
    bool is_second_due_ = false;
    unsigned left_in_row_ = 0;
    unsigned all_in_rows_ = 0;
    std::map<std::uint64_t, unsigned> events_before_;
    std::map<pid_t, std::uint64_t> armed_;
    std::map<std::uint64_t, std::map<std::string, unsigned>> sent_;
};

std::string Events::missed() const {
    std::string missed;
    std::set<std::string> ways;
    for (const auto& [address, events] : sent_) {
        for (const auto& [way, count] : events) {
            ways.insert(way);
        }
    }
    for (const char* way :
         {"in by a call", "in by a signal", "in by a signal on the way out", "out to enter once more",
          "a stop by a call", "a stop by a signal", "a stop behind all operations",
          "a stop behind a failed operation, the signal stack is to be armed",
          "a stop behind a failed operation, the signal stack is armed",
          "out with operations, the signal stack is to be armed",
          "out with operations, the signal stack is armed",
          "out without operations, the signal stack is to be armed",
          "out without operations, the signal stack is armed"}) {
        if (!ways.contains(way)) {
            missed += std::string("\n  on this way: ") + way;
        }
    }
    for (const auto& [address, instruction] : stub_.instructions) {
        const bool is_left_out = !reason_to_leave_out(stub_, address).empty();
        if (sent_.contains(address) == is_left_out) {
            missed += "\n  at " + stub_.name(address) + (is_left_out ? ", which nothing should reach" : "");
        }
    }
    if (all_in_rows_ == 0) {
        missed += "\n  behind another one";
    }
    return missed;
}

void Events::print() const {
    unsigned all = 0;
    for (const auto& [address, instruction] : stub_.instructions) {
        const std::string reason = reason_to_leave_out(stub_, address);
        std::cout << stub_.name(address) << (reason.empty() ? "" : ": left out, ") << reason << '\n';
        const auto events = sent_.find(address);
        if (events == sent_.end()) {
            continue;
        }
        for (const auto& [way, count] : events->second) {
            std::cout << "    " << count << ' ' << way << '\n';
            all += count;
        }
    }
    std::cout << "stub_events: " << all << " events, and " << all_in_rows_ << " behind them, at "
              << sent_.size() << " of " << stub_.instructions.size() << " instructions, in " << all_exits_
              << " exits to the program\n";
}

int report(const std::string& what) {
    std::cout << "stub_events: FAILED: " << what << '\n';
    return 1;
}

int run(const std::string& previrt, const std::string& vmm, const std::string& guest,
        const std::string& output) {
    const StubImage stub = read_stub(vmm);
    Events events(stub);
    TracedRun traced({previrt, "run", "--on", "process", "--isolate", "--memory", "64M", guest}, output);
    constexpr std::chrono::seconds limit(60);
    int status = -1;
    std::string failure;
    try {
        status = traced.run(events, limit);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    std::ostringstream printed;
    printed << std::ifstream(output).rdbuf();
    events.print();
    std::cout << printed.str();
    if (!failure.empty()) {
        return report(failure + "; events came at " + events.place());
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return report("the guest's end has status " + std::to_string(status) + "; events came at " +
                      events.place());
    }
    if (printed.str().find("FAIL") != std::string::npos ||
        printed.str().find("guest: end") == std::string::npos) {
        return report("the guest noticed an event");
    }
    if (!events.has_finished()) {
        return report("the guest ended while events came at " + events.place());
    }
    const std::string missed = events.missed();
    return missed.empty() ? 0 : report("no event came" + missed);
}

} // namespace

int main(int count, char** arguments) {
    const std::span all(arguments, static_cast<std::size_t>(count));
    if (all.size() != 4) {
        std::cerr << "usage: stub_events PREVIRT VMM GUEST\n";
        return 2;
    }
    std::string output = "/tmp/stub_events.XXXXXX";
    const int file = mkstemp(output.data());
    if (file < 0) {
        std::cerr << "stub_events: there is no file for the output\n";
        return 1;
    }
    close(file);
    int result = 1;
    try {
        result = run(all[1], all[2], all[3], output);
    } catch (const std::exception& error) {
        result = report(error.what());
    }
    unlink(output.c_str());
    return result;
}
