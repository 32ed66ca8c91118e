// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/machine.hpp"

#include "backends/process/contract/host_call_counts.hpp"
#include "backends/process/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/process/clone_quota.hpp"
#include "monitor/process/filter.hpp"
#include "monitor/process/layout.hpp"
#include "monitor/profile/counts_json.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <linux/futex.h>
#include <nlohmann/json.hpp>
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

// The size is sealed so that the guest cannot truncate the file while the monitor reads it.
Descriptor make_file(std::uint64_t bytes) {
    Descriptor file(memfd_create("previrt-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 ||
        fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        throw InputError("--memory: no " + std::to_string(bytes / mib) + " MiB: " + system_error(errno));
    }
    return file;
}

// By system calls: through a mapping each new page would cost a fault.
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
                               std::span<const ProcessPlan> plans, KernelMove kernel)
    : event_word_(image.event_word_offset()), instruction_counts_(image.instruction_counts_offset()),
      kernel_(kernel),
      bounds_(bound_guest(options.memory, options.cpus, read_most_mappings(), options.isolate)),
      events_(make_events()), network_(open_guest_network(options.net, options.command.empty())),
      folders_(options), disks_(options.disks), channel_(open_guest_channel(options)), ports_(options) {
    const std::vector<std::uint8_t> filter =
        make_process_filter(options.isolate, disks_.count(), folders_.count(), options.cpus);
    handover_ = lay_out_process(options.memory, package.size(), filter.size(), options.isolate, options.cpus);
    handover_.clock = clock;
    if (network_) {
        network_->describe(handover_.network);
    }
    disks_.describe(handover_.disks);
    folders_.describe(handover_.folders);
    if (channel_) {
        GuestChannel::describe(handover_.vsock);
    }
    ports_.describe(handover_.console_ports);
    handover_.most_hosts = bounds_.hosts;
    handover_.most_ranges = bounds_.ranges;
    handover_.rewrites_user_calls = options.rewrite_system_calls ? 1 : 0;
    file_ = make_file(file_bytes(handover_));
    folders_.share({.file = file_.number(), .offset = handover_.vmm_bytes, .bytes = handover_.guest_memory});
    memory_ = std::make_unique<Mapping>(
        Mapping::of_descriptor(file_, disks_.count() != 0 ? file_bytes(handover_) : handover_.vmm_bytes));
    fill(image, filter, package);
    package = std::vector<std::uint8_t>(); // so that the child gets no copy; {} would keep its room
    const Descriptor program = make_executable(image.file);
    first_ = start_process({.file = program.number(),
                            .memory = file_.number(),
                            .output = events_.output.number(),
                            .packets = network_ ? network_->called().number() : -1,
                            .vsock = channel_ ? channel_->called().number() : -1,
                            .console_ports = ports_.empty() ? -1 : ports_.called().number(),
                            .disks = disk_events(),
                            .folders = folder_events(),
                            .address_space = most_address_space(handover_),
                            .processes = bounds_.processes,
                            .user_listeners = options.isolate ? options.cpus : 0},
                           plans);
    if (!first_.layers.has_other_namespaces) {
        prctl(PR_SET_CHILD_SUBREAPER, 1); // this process waits for the keeper's orphans
    }
}

ProcessMachine::~ProcessMachine() {
    end();
}

template <typename Ring>
Ring& ProcessMachine::ring(const Part& part) const {
    return *reinterpret_cast<Ring*>(memory_->bytes().subspan(part.offset, sizeof(Ring)).data());
}

DiskEventNumbers ProcessMachine::disk_events() const {
    DiskEventNumbers numbers = no_disk_events;
    for (unsigned disk = 0; disk < disks_.count(); ++disk) {
        numbers.at(disk) = disks_.called(disk).number();
    }
    return numbers;
}

FolderEventNumbers ProcessMachine::folder_events() const {
    FolderEventNumbers numbers = no_folder_events;
    numbers[0] = folders_.count() != 0 ? folders_.called().number() : -1;
    for (unsigned folder = 0; folder < folders_.count(); ++folder) {
        for (unsigned queue = 0; queue < backend::most_folder_queues; ++queue) {
            numbers.at(1 + (folder * backend::most_folder_queues) + queue) =
                folders_.kicked(folder, queue).number();
        }
    }
    return numbers;
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
           << "; between them and this machine: " << previrt::describe(first_.layers) << ", and "
           << (overhead_of(bounds_) / mib) << " MiB of memory beside its RAM and the VMM's "
           << (handover_.vmm_bytes / mib) << " MiB\n";
    disks_.describe(output);
    folders_.describe(output);
    ports_.describe(output);
}

void ProcessMachine::describe_end(std::ostream& output) const {
    if (network_) {
        network_->describe_end(output);
    }
    disks_.describe_end(output);
}

// There is work in the guest's ring. The boot processor's process looks when it is woken. If it does not
// sleep, a signal tells it, which interrupts all of the guest's processes.
void ProcessMachine::call() const {
    auto* const word = reinterpret_cast<std::uint32_t*>(memory_->bytes().subspan(event_word_, 4).data());
    std::atomic_ref(*word).fetch_or(event_pending);
    if (syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0) <= 0) {
        kill(-first_.process, event_signal);
    }
}

// Until the keeper has ended, which ends with any of the others, and so with the guest.
ProcessorEnd ProcessMachine::wait() {
    const Descriptor first(static_cast<int>(syscall(SYS_pidfd_open, first_.process, 0)));
    if (first.number() < 0) {
        throw InputError("pidfd_open: " + system_error(errno));
    }
    ProcessLeaves leaves(std::move(first_.asked), bounds_.processes);
    confine_waiting_thread(first_.process);
    const std::string failure = begin_process(first_);
    if (!failure.empty() && !is_stopped_) {
        throw InputError("--on process: the guest's first process does not begin: " + failure);
    }
    std::array<pollfd, 3> waiting = {{{.fd = first.number(), .events = POLLIN, .revents = 0},
                                      {.fd = leaves.descriptor(), .events = POLLIN, .revents = 0},
                                      {.fd = watch_->descriptor(), .events = POLLIN, .revents = 0}}};
    std::string passed;
    while (waiting[0].revents == 0) {
        if (poll(waiting.data(), waiting.size(), -1) > 0 && (waiting[1].revents & POLLIN) != 0) {
            leaves.answer();
        }
        if ((waiting[1].revents & POLLHUP) != 0) {
            waiting[1].fd = -1; // nobody asks any more
        }
        if (waiting[2].revents != 0 && waiting[0].revents == 0) {
            passed = follow_watch();
        }
        if (!passed.empty()) {
            kill(-first_.process, SIGKILL);
            waiting[2].fd = -1;
        }
    }
    ProcessorEnd exit = judge_end();
    exit.failure = passed.empty() ? exit.failure : passed;
    return exit;
}

std::string ProcessMachine::follow_watch() const {
    const std::optional<GuestWatch::Finding> finding = watch_->read();
    if (!finding) {
        return "the process that watches its bounds has ended";
    }
    switch (finding->verdict) {
    case Verdict::too_much_memory:
        return "the page tables of its processes take " + std::to_string(finding->page_tables / mib) +
               " MiB of this machine's memory, and " + std::to_string(bounds_.page_tables / mib) +
               " are the bound for a guest of this size; more --memory raises it";
    case Verdict::several_at_once:
        std::cerr << "previrt: warning: more of the guest's processes ran at once than it has processors, "
                     "which the VMM never does: from now on they all share one processor\n";
        break;
    case Verdict::within_bounds:
        break;
    }
    return {};
}

// The keeper has ended.
ProcessorEnd ProcessMachine::judge_end() const {
    ProcessorEnd exit;
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(first_.process), &ended, WEXITED | WNOWAIT);
    constexpr int first_signal = 128; // in keeper.S's exit status
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

std::optional<CountsMemory> ProcessMachine::counts_memory() const {
    if (!instruction_counts_) {
        return std::nullopt;
    }
    return CountsMemory(memory_->bytes().subspan(*instruction_counts_), process::host_call_names, kernel_);
}

nlohmann::json ProcessMachine::counts() const {
    const std::optional<CountsMemory> counts = counts_memory();
    return counts ? counts_to_json(counts->read()) : nlohmann::json::object();
}

MissingLayers ProcessMachine::missing() const {
    MissingLayers missing{.names = missing_layers(first_.layers), .reason = first_.layers.lacking};
    if (!watch_->lacking().empty()) {
        missing.names.push_back("a bound on page tables and processors (" + watch_->lacking() + ")");
    }
    return missing;
}

MonitoredEnd ProcessMachine::run(const RunOptions& options) {
    if (network_) {
        network_->judge_isolation(options);
    }
    const auto call_guest = [this] { call(); };
    console_ = std::make_unique<MonitoredConsole>(options, events_, ring<ConsoleRing>(handover_.output),
                                                  ring<ConsoleRing>(handover_.input), call_guest);
    console_->serve(counts_memory());
    const PacketThread packets =
        packet_thread(network_, guests_handover().network,
                      {.sent = ring<monitored::PacketRing>(handover_.network.sent),
                       .received = ring<monitored::PacketRing>(handover_.network.received)},
                      call_guest, first_.process);
    watch_ = std::make_unique<GuestWatch>(first_.process, first_.layers.is_another_user, bounds_);
    const std::span<std::uint8_t> memory = memory_->bytes();
    const std::vector<DiskThread> disks =
        disks_.threads(handover_.disks, memory, memory.subspan(handover_.vmm_bytes), call_guest,
                       {.group = first_.process, .event = -1});
    MonitoredEnd end = run_with_console(
        options, *console_, events_,
        {.run = [&] { return wait(); },
         .stop =
             [&](pthread_t) {
                 is_stopped_ = true;
                 kill(-first_.process, SIGKILL);
             },
         .group = first_.process,
         .is_nobody = first_.layers.is_another_user,
         .missing = missing()},
        packets, disks,
        channel_thread(channel_.get(),
                       {.sent = ring<monitored::PacketRing>(handover_.vsock.sent),
                        .received = ring<monitored::PacketRing>(handover_.vsock.received)},
                       call_guest, first_.process),
        folders_.thread(handover_.folders, memory, call_guest, first_.process),
        ports_.thread({.sent = ring<monitored::PacketRing>(handover_.console_ports.sent),
                       .received = ring<monitored::PacketRing>(handover_.console_ports.received)},
                      call_guest, first_.process));
    disks_.tell_failures(std::cerr);
    return end;
}

} // namespace previrt
