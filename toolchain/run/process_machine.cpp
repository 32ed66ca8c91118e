// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/process_machine.hpp"

#include "backends/process/layout.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/confinement.hpp"
#include "toolchain/run/process_filter.hpp"
#include "toolchain/run/process_layout.hpp"
#include "toolchain/run/process_leaves.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

using namespace process;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::string system_error(int error) {
    return std::generic_category().message(error);
}

// Its size is for good: the monitor reads it, and behind an end there would be nothing to read.
Descriptor make_file(std::uint64_t bytes) {
    Descriptor file(memfd_create("previrt-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 ||
        fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        throw InputError("--memory: no " + std::to_string(bytes / mib) + " MiB: " + system_error(errno));
    }
    return file;
}

// Not through a mapping: there each new page would cost a fault.
void write_at(const Descriptor& file, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = pwrite(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0) {
            throw InputError("--memory: no memory for the guest: " + system_error(errno));
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
}

} // namespace

ProcessMachine::ProcessMachine(const RunOptions& options, const ProcessImage& image,
                               const monitored::ClockStart& clock, std::vector<std::uint8_t> package,
                               std::span<const ProcessPlan> plans)
    : event_word_(image.event_word_offset()), events_(make_events()),
      network_(open_guest_network(options.net)) {
    const std::vector<std::uint8_t> filter = make_process_filter();
    handover_ = lay_out_process(options.memory, package.size(), filter.size());
    handover_.clock = clock;
    if (network_) {
        network_->describe(handover_.network);
    }
    handover_.rewrites_user_calls = options.rewrite_system_calls ? 1 : 0;
    file_ = make_file(file_bytes(handover_));
    memory_ = std::make_unique<Mapping>(Mapping::of_descriptor(file_, handover_.vmm_bytes));
    fill(image, filter, package);
    package = {}; // which the child would have to be given a copy of
    const Descriptor program = make_executable(image.file);
    first_ = start_process({.file = program.number(),
                            .memory = file_.number(),
                            .output = events_.output.number(),
                            .packets = network_ ? network_->called().number() : -1,
                            .address_space = most_address_space(handover_)},
                           plans);
    if (!first_.layers.has_other_namespaces) {
        prctl(PR_SET_CHILD_SUBREAPER, 1); // what it leaves is ours to wait for
    }
}

ProcessMachine::~ProcessMachine() {
    end();
}

template <typename Ring>
Ring& ProcessMachine::ring(const Part& part) const {
    return *reinterpret_cast<Ring*>(memory_->bytes().subspan(part.offset, sizeof(Ring)).data());
}

void ProcessMachine::fill(const ProcessImage& image, std::span<const std::uint8_t> filter,
                          std::span<const std::uint8_t> package) {
    const std::span<std::uint8_t> memory = memory_->bytes();
    image.copy_to(memory);
    write_at(file_, handover_.filter.offset, filter);
    write_at(file_, handover_.package.offset, package);
    guests_handover() = handover_;
}

Handover& ProcessMachine::guests_handover() const {
    constexpr std::uint64_t offset = handover_address - image_address;
    return *reinterpret_cast<Handover*>(memory_->bytes().subspan(offset, sizeof(Handover)).data());
}

void ProcessMachine::describe(std::ostream& output) const {
    output << "previrt: process: the guest's processes are children of " << first_.process
           << "; between them and this machine: " << previrt::describe(first_.layers) << '\n';
}

void ProcessMachine::describe_end(std::ostream& output) const {
    if (network_) {
        network_->describe_end(output);
    }
}

// Something is in the guest's ring. Whichever process runs the virtual processor looks; one that waits is
// woken.
void ProcessMachine::call() const {
    auto* const word = reinterpret_cast<std::uint32_t*>(memory_->bytes().subspan(event_word_, 4).data());
    std::atomic_ref(*word).fetch_or(event_pending);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    kill(-first_.process, event_signal);
}

// Until the first has ended: with any of the others, and so with the guest.
ProcessorEnd ProcessMachine::wait() {
    const Descriptor first(static_cast<int>(syscall(SYS_pidfd_open, first_.process, 0)));
    if (first.number() < 0) {
        throw InputError("pidfd_open: " + system_error(errno));
    }
    ProcessLeaves leaves(std::move(first_.asked), most_hosts);
    confine_waiting_thread();
    begin_process(first_);
    std::array<pollfd, 2> waiting = {{{.fd = first.number(), .events = POLLIN, .revents = 0},
                                      {.fd = leaves.descriptor(), .events = POLLIN, .revents = 0}}};
    while (waiting[0].revents == 0) {
        if (poll(waiting.data(), waiting.size(), -1) > 0 && (waiting[1].revents & POLLIN) != 0) {
            leaves.answer();
        }
        if ((waiting[1].revents & POLLHUP) != 0) {
            waiting[1].fd = -1; // nobody is left to ask
        }
    }
    ProcessorEnd exit;
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(first_.process), &ended, WEXITED | WNOWAIT);
    constexpr int first_signal = 128; // as keeper.S counts
    if (ended.si_code != CLD_EXITED || ended.si_status > first_signal) {
        const int signal = ended.si_code == CLD_EXITED ? ended.si_status - first_signal : ended.si_status;
        exit.failure = std::string("signal ") + strsignal(signal);
    } else if (ended.si_status != 0) {
        exit.failure = "a process ended with status " + std::to_string(ended.si_status);
    }
    return exit;
}

void ProcessMachine::end() const {
    if (first_.process == 0) {
        return;
    }
    kill(-first_.process, SIGKILL);
    while (waitid(P_PGID, static_cast<id_t>(first_.process), nullptr, WEXITED) == 0 || errno == EINTR) {
    }
}

MonitoredEnd ProcessMachine::run(const RunOptions& options) {
    if (network_) {
        network_->judge_isolation(options);
    }
    const auto call_guest = [this] { call(); };
    console_ = std::make_unique<MonitoredConsole>(options, events_, ring<ConsoleRing>(handover_.output),
                                                  ring<ConsoleRing>(handover_.input), call_guest);
    const PacketThread packets =
        packet_thread(network_, guests_handover().network,
                      {.sent = ring<monitored::PacketRing>(handover_.network.sent),
                       .received = ring<monitored::PacketRing>(handover_.network.received)},
                      call_guest, first_.process);
    return run_with_console(
        options, *console_, events_,
        {.run = [&] { return wait(); },
         .stop = [&](pthread_t) { kill(-first_.process, SIGKILL); },
         .group = first_.process,
         .is_nobody = first_.layers.is_another_user,
         .missing = {.names = missing_layers(first_.layers), .reason = first_.layers.lacking}},
        packets);
}

} // namespace previrt
