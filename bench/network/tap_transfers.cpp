// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/tap_transfers.hpp"

#include "bench/network/processor_meter.hpp"
#include "bench/timed_program.hpp"
#include "host/input_error.hpp"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr auto measures_within = 900s;

// Runs the peer at the host's end; the destructor ends it.
class Server {
public:
    explicit Server(const Program& program) {
        Pipe output = make_pipe();
        const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
        process_ = start_program(
            program, {.input = nothing.number(), .output = output.write.number(), .error = nothing.number()});
        output.write.close();
        char first = 0;
        if (read(output.read.number(), &first, 1) != 1) { // it listens now
            throw InputError(program.arguments.front() + " does not listen");
        }
    }
    ~Server() {
        kill(process_, SIGTERM);
        wait_for_program(process_);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

private:
    pid_t process_ = -1;
};

} // namespace

std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server,
                                               std::size_t transfers) {
    const Server serving(server);
    const ProcessorMeter meter; // started after the server, which it leaves out
    TransfersReader reader(
        [&] { return ProcessorSeconds{{"cpu", std::chrono::duration<double>(meter.used()).count()}}; });
    const TimedEnd end = run_timed(program, measures_within,
                                   [&](std::string_view line, Nanoseconds) { reader.read_line(line); });
    reader.check_complete(transfers, end.last_lines);
    return reader.done();
}

} // namespace previrt
