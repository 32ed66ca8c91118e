// SPDX-License-Identifier: BSD-2-Clause
// The host tells a process only the processor time that it got. A process that has the turn and does not
// sleep wants all of the time: the rest is stolen.
#include "backends/process/stolen_time.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/system_call.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/time.hpp"

namespace previrt::process {

namespace {

[[gnu::section("processor")]] std::uint64_t stolen;

std::uint64_t own_processor_time() {
    constexpr std::uint64_t of_process = 2; // CLOCK_PROCESS_CPUTIME_ID
    constexpr std::uint64_t second = 1'000'000'000;
    struct {
        std::uint64_t seconds;
        std::uint64_t nanoseconds;
    } time{};
    call_host(call_clock_gettime, {.first = of_process, .second = address_of(&time)});
    return (time.seconds * second) + time.nanoseconds;
}

} // namespace

void end_turn() {
    TurnTime& time = current_host().turn_time;
    time.had += backend::now() - time.began;
}

void begin_turn() {
    current_host().turn_time.began = backend::now();
}

void exclude_sleep(std::uint64_t since) {
    current_host().turn_time.began += backend::now() - since;
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

// With --isolate, user mode's processor time is another process's.
std::optional<std::uint64_t> stolen_time() {
    if (handover.isolates_user_mode != 0) {
        return {};
    }
    TurnTime& time = current_host().turn_time;
    end_turn();
    begin_turn();
    const std::uint64_t processor_time = own_processor_time();
    time.ahead += static_cast<std::int64_t>(time.had - (processor_time - time.processor_time));
    time.had = 0;
    time.processor_time = processor_time;
    if (time.ahead > 0) {
        stolen += static_cast<std::uint64_t>(time.ahead);
        time.ahead = 0;
    }
    return stolen;
}

} // namespace previrt::backend
