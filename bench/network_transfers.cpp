// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network_transfers.hpp"

#include "bench/process_table.hpp"
#include "bench/timed_program.hpp"
#include "toolchain/image/input_error.hpp"

#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr auto measures_within = 900s;
constexpr std::size_t transfers = 4;

// Answers at the host's end; ended with it.
class Server {
public:
    explicit Server(const Program& program) {
        Pipe output = make_pipe();
        const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
        process_ = start_program(program, {.input = nothing.number(),
                                           .output = output.write.number(),
                                           .error = nothing.number(),
                                           .inherited = {}});
        output.write.close();
        char first = 0;
        if (read(output.read.number(), &first, 1) != 1) { // it listens
            throw InputError(program.arguments.front() + " does not listen");
        }
    }
    ~Server() {
        kill(process_, SIGTERM);
        wait_for_program(process_);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] pid_t process() const { return process_; }

private:
    pid_t process_ = -1;
};

// What bench/guest/net.sh prints.
class TransfersReader {
public:
    explicit TransfersReader(pid_t server) : server_(server) {}

    void read(std::string_view line) {
        std::istringstream words{std::string(line)};
        std::string word;
        std::string what;
        words >> word >> what;
        if (word == "net" && what == "begin" && words >> name_) {
            begin_ = used();
            moved_.reset();
        } else if (word == "net" && what == "end" && moved_) {
            moved_->processor_seconds = std::chrono::duration<double>(used() - begin_).count();
            done_.push_back(*moved_);
            moved_.reset();
        } else if (word == "traffic:") {
            read_result(words);
        }
    }

    [[nodiscard]] const std::vector<NetworkTransfer>& done() const { return done_; }

private:
    // Behind `traffic: COMMAND:`, GOT of WANTED in SECONDS s, ...
    void read_result(std::istream& words) {
        double got = 0;
        double wanted = 0;
        double seconds = 0;
        std::string of;
        std::string in;
        if (words >> got >> of >> wanted >> in >> seconds && got > 0 && seconds > 0) {
            moved_ = {.name = name_, .amount = got, .seconds = seconds, .processor_seconds = 0};
        }
    }

    // By all processes that we have started but the server.
    [[nodiscard]] Nanoseconds used() const {
        Nanoseconds sum{};
        for (const pid_t process : ProcessTable().family_of(getpid())) {
            sum += process == getpid() || process == server_ ? Nanoseconds{} : processor_time(process);
        }
        return sum;
    }

    pid_t server_;
    std::string name_;
    Nanoseconds begin_{};
    std::optional<NetworkTransfer> moved_;
    std::vector<NetworkTransfer> done_;
};

} // namespace

std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server) {
    const Server serving(server);
    TransfersReader reader(serving.process());
    const TimedEnd end =
        run_timed(program, measures_within, [&](std::string_view line, Nanoseconds) { reader.read(line); });
    if (reader.done().size() != transfers) {
        throw InputError("of its " + std::to_string(transfers) + " transfers " +
                         std::to_string(reader.done().size()) + " came to an end; its last lines:\n" +
                         end.last_lines);
    }
    return reader.done();
}

} // namespace previrt
