// SPDX-License-Identifier: BSD-2-Clause
#include "bench/tap_transfers.hpp"

#include "bench/process_table.hpp"
#include "bench/timed_program.hpp"
#include "toolchain/image/input_error.hpp"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr auto measures_within = 900s;

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

// By all processes that we have started but the server.
ProcessorSeconds used_by_others(pid_t server) {
    Nanoseconds sum{};
    for (const pid_t process : ProcessTable().family_of(getpid())) {
        sum += process == getpid() || process == server ? Nanoseconds{} : processor_time(process);
    }
    return {{"cpu", std::chrono::duration<double>(sum).count()}};
}

} // namespace

std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server,
                                               std::size_t transfers) {
    const Server serving(server);
    TransfersReader reader([&] { return used_by_others(serving.process()); });
    const TimedEnd end = run_timed(program, measures_within,
                                   [&](std::string_view line, Nanoseconds) { reader.read_line(line); });
    reader.check_complete(transfers, end.last_lines);
    return reader.done();
}

} // namespace previrt
