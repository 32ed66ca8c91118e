// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/process_machine.hpp"

#include "backends/process/layout.hpp"
#include "toolchain/image/elf_image.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/pack/load_segments.hpp"
#include "toolchain/pack/vmm_image.hpp"
#include "toolchain/run/process_filter.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <linux/futex.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using namespace process;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::string system_error(int error) {
    return std::generic_category().message(error);
}

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// What the VMM needs beside its package: shadow tables and their descriptions, and a record for each frame.
std::uint64_t free_bytes(std::uint64_t guest_memory) {
    constexpr std::uint64_t table_description = 512;
    constexpr std::uint64_t frame_description = 64;
    const std::uint64_t frames = guest_memory / page_size;
    return round_up(((frames / 32 + 512) * (page_size + table_description)) + (frames * frame_description) +
                        (4 * mib),
                    page_size);
}

Handover lay_out(std::uint64_t guest_memory, std::uint64_t package_bytes, std::uint64_t filter_bytes) {
    Handover handover{};
    std::uint64_t end = image_room;
    const auto take = [&](std::uint64_t bytes) {
        const Part part{.offset = end, .bytes = bytes};
        end += round_up(bytes, page_size);
        return part;
    };
    handover.guest_memory = guest_memory / page_size * page_size;
    handover.output = take(sizeof(ConsoleRing));
    handover.input = take(sizeof(ConsoleRing));
    handover.filter = take(filter_bytes);
    handover.package = take(package_bytes);
    handover.free = take(free_bytes(guest_memory));
    handover.vmm_bytes = round_up(end, large_page_size);
    handover.monitor = static_cast<std::uint64_t>(getpid());
    return handover;
}

Descriptor make_file(std::uint64_t bytes) {
    Descriptor file(memfd_create("previrt-guest", MFD_CLOEXEC));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
        throw InputError("--memory: no " + std::to_string(bytes / mib) + " MiB: " + system_error(errno));
    }
    return file;
}

} // namespace

ProcessMachine::ProcessMachine(const RunOptions& options, const monitored::ClockStart& clock,
                               std::span<const std::uint8_t> package)
    : handover_(lay_out(options.memory, package.size(), make_process_filter().size())),
      file_(make_file(handover_.vmm_bytes + handover_.guest_memory)),
      memory_(Mapping::of_descriptor(file_, handover_.vmm_bytes)), events_(make_events()) {
    handover_.clock = clock;
    handover_.rewrites_user_calls = options.rewrite_system_calls ? 1 : 0;
    if (options.memory > most_ram) {
        throw InputError("--memory: in a process a guest has 512 GiB at most");
    }
    fill(package);
    start();
}

ProcessMachine::~ProcessMachine() {
    end();
}

ConsoleRing& ProcessMachine::ring(const Part& part) const {
    return *reinterpret_cast<ConsoleRing*>(memory_.bytes().subspan(part.offset, sizeof(ConsoleRing)).data());
}

void ProcessMachine::fill(std::span<const std::uint8_t> package) {
    const std::span<std::uint8_t> memory = memory_.bytes();
    const ElfImage elf = ElfImage::parse(read_vmm_image(Hypervisor::process));
    for (const LoadSegment& segment : read_load_segments(elf.file())) {
        const std::uint64_t offset = segment.virtual_address - image_address;
        if (segment.virtual_address < image_address || offset > image_room ||
            segment.memory_size > handover_address - image_address - offset) {
            throw InputError("previrt-process: a segment lies outside the VMM's 2 MiB");
        }
        std::ranges::copy(std::span(elf.file()).subspan(segment.file_offset, segment.file_size),
                          memory.subspan(offset).begin());
    }
    ImageHeader header{};
    std::memcpy(&header, memory.data(), sizeof header);
    event_word_ = header.event_word - image_address;
    if (!std::ranges::equal(header.magic, image_magic) || event_word_ % 4 != 0 || event_word_ >= image_room) {
        throw InputError("previrt-process: it is no VMM for a process (magic)");
    }
    const std::vector<std::uint8_t> filter = make_process_filter();
    std::ranges::copy(filter, memory.subspan(handover_.filter.offset).begin());
    std::ranges::copy(package, memory.subspan(handover_.package.offset).begin());
    std::memcpy(memory.subspan(handover_address - image_address).data(), &handover_, sizeof handover_);
}

// An image with nothing in it but what the VMM maps. In a group of its own, no key of the terminal's reaches
// it.
void ProcessMachine::start() {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    // First to where no other is: the two may be each other's.
    constexpr int apart = 64;
    posix_spawn_file_actions_adddup2(&files, file_.number(), apart);
    posix_spawn_file_actions_adddup2(&files, events_.output.number(), apart + 1);
    posix_spawn_file_actions_adddup2(&files, apart, memory_descriptor);
    posix_spawn_file_actions_adddup2(&files, apart + 1, output_event);
    for (const int descriptor : {0, 1, 2, apart, apart + 1}) {
        posix_spawn_file_actions_addclose(&files, descriptor);
    }
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const std::string path = vmm_image_path(Hypervisor::process);
    std::string name = "previrt-process";
    std::array<char*, 2> arguments = {name.data(), nullptr};
    std::array<char*, 1> environment = {nullptr};
    const int error =
        posix_spawn(&first_, path.c_str(), &files, &attributes, arguments.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) {
        first_ = 0;
        throw InputError(path + ": " + system_error(error));
    }
}

// Something is in the guest's ring. Whichever process runs the virtual processor looks; one that waits is
// woken.
void ProcessMachine::call() const {
    auto* const word = reinterpret_cast<std::uint32_t*>(memory_.bytes().subspan(event_word_, 4).data());
    std::atomic_ref(*word).fetch_or(event_pending);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    kill(-first_, event_signal);
}

// Until one of them has ended: none does so but with the guest.
ProcessorEnd ProcessMachine::wait() {
    siginfo_t ended{};
    while (waitid(P_PGID, static_cast<id_t>(first_), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    ProcessorEnd exit;
    if (ended.si_code != CLD_EXITED || ended.si_status != 0) {
        exit.failure = ended.si_code == CLD_EXITED
                           ? "a process ended with status " + std::to_string(ended.si_status)
                           : std::string("signal ") + strsignal(ended.si_status);
    }
    return exit;
}

void ProcessMachine::end() const {
    if (first_ == 0) {
        return;
    }
    kill(-first_, SIGKILL);
    while (waitid(P_PGID, static_cast<id_t>(first_), nullptr, WEXITED) == 0 || errno == EINTR) {
    }
}

MonitoredEnd ProcessMachine::run(const RunOptions& options) {
    console_ = std::make_unique<MonitoredConsole>(options, events_, ring(handover_.output),
                                                  ring(handover_.input), [this] { call(); });
    return run_with_console(
        options, *console_, events_,
        {.run = [&] { return wait(); }, .stop = [&](pthread_t) { kill(-first_, SIGKILL); }});
}

} // namespace previrt
