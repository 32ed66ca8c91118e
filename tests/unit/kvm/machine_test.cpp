// SPDX-License-Identifier: BSD-2-Clause
// The monitor on this host's KVM, with a guest of a few lines (guest.cpp); and what it says where there is
// none.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/kvm/machine.hpp"
#include "monitor/kvm/mode.hpp"
#include "monitor/kvm/report.hpp"
#include "tests/machine/machine.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/standard_streams.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// ---- where there is none

std::string refusal(const std::string& path) {
    try {
        open_kvm(path);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(KvmHost, WhatLacksIsSaidInALine) {
    EXPECT_EQ(refusal("/no/kvm"),
              "/no/kvm: No such file or directory: this host has no KVM (modprobe kvm_intel or kvm_amd, with "
              "virtualization switched on in the firmware, or nested where this is a virtual machine); --on "
              "bare and --on xen need no KVM");
    EXPECT_EQ(refusal("/dev/null"), "/dev/null: it is not KVM: Inappropriate ioctl for device; --on bare and "
                                    "--on xen need no KVM");
    const ScratchDirectory directory;
    const std::string device = directory.write("kvm", "");
    chmod(device.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP);
    EXPECT_PRED2(contains, kvm_open_failure(device, EACCES),
                 "/kvm: Permission denied: you may not use it (usermod --append --groups ");
    chmod(device.c_str(), S_IRUSR | S_IWUSR);
    EXPECT_PRED2(contains, kvm_open_failure(device, EACCES),
                 ": you may not use it (as root: chgrp kvm " + device + " && chmod 660 " + device);
    EXPECT_PRED2(contains, kvm_open_failure("/dev/kvm", ENODEV), "this host has no KVM");
}

// Of a host: what it answers to each request.
std::string refusal_of(int version, const std::set<int>& lacking) {
    try {
        check_kvm("/dev/kvm", [&](unsigned long request, int argument) {
            errno = ENOTTY;
            return request == KVM_GET_API_VERSION ? version : static_cast<int>(!lacking.contains(argument));
        });
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(KvmHost, ItsVersionAndWhatItLacksAreSaidInALine) {
    EXPECT_EQ(refusal_of(KVM_API_VERSION, {}), "");
    EXPECT_EQ(refusal_of(-1, {}),
              "/dev/kvm: it is not KVM: Inappropriate ioctl for device; --on bare and --on xen need no KVM");
    EXPECT_EQ(refusal_of(11, {}), "/dev/kvm: it speaks version 11 of KVM's interface, not 12: it takes a "
                                  "Linux of 4.11 or later; --on bare and --on xen need no KVM");
    EXPECT_EQ(
        refusal_of(KVM_API_VERSION, {KVM_CAP_IOEVENTFD, KVM_CAP_IRQCHIP}),
        "/dev/kvm: this host's KVM lacks IRQCHIP, IOEVENTFD: it takes a Linux of 4.11 or later; --on bare "
        "and --on xen need no KVM");
    for (const int needed :
         {KVM_CAP_USER_MEMORY, KVM_CAP_EXT_CPUID, KVM_CAP_IOEVENTFD, KVM_CAP_IRQFD, KVM_CAP_IRQ_ROUTING,
          KVM_CAP_MP_STATE, KVM_CAP_GET_TSC_KHZ, KVM_CAP_IMMEDIATE_EXIT}) {
        EXPECT_PRED2(contains, refusal_of(KVM_API_VERSION, {needed}), "this host's KVM lacks ") << needed;
    }
}

TEST(Mapping, MoreThanThisMachineHasIsRefused) {
    try {
        Mapping::of_guest(std::uint64_t{1} << 46U);
        ADD_FAILURE();
    } catch (const InputError& error) {
        EXPECT_PRED2(contains, error.what(), "--memory: the guest and its VMM take 67108864 MiB");
    }
    const Mapping memory = Mapping::of_guest(3 * mib);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % (2 * mib), 0U);
    EXPECT_EQ(memory.bytes().size(), 3 * mib);
    memory.bytes().front() = memory.bytes().back() = 1;
}

// ---- what --verbose tells

TEST(KvmReport, ExitsAndCounts) {
    const auto text = [](const KvmExits& exits, const std::vector<KvmStat>& stats) {
        std::ostringstream output;
        describe_exits(output, exits, stats);
        return output.str();
    };
    EXPECT_EQ(text({}, {}), "previrt: KVM: exits to the monitor: none\n"
                            "previrt: KVM: its own counts: it tells none\n");
    EXPECT_EQ(text({{KVM_EXIT_MMIO, 2}, {KVM_EXIT_INTR, 3}, {999, 1}},
                   {{.name = "exits", .value = 7}, {.name = "halt_exits", .value = 5}}),
              "previrt: KVM: exits to the monitor: MMIO 2, signal 3, reason 999 1\n"
              "previrt: KVM: its own counts: exits 7, halt_exits 5\n");
    EXPECT_EQ(KvmStats(Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC))).read().size(), 0U);
}

// ---- confinement

// How a process ends that does this in a confined thread.
int end_of_confined(void (*confine)(), const std::function<void()>& action) {
    const pid_t process = fork();
    if (process == 0) {
        const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::thread([&] {
            confine();
            action();
        }).join();
        const Descriptor ours(open("/dev/null", O_RDONLY | O_CLOEXEC)); // this thread may
        _exit(ours.number() >= 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(process, &status, 0);
    return status;
}

TEST(Confinement, HoldsTheThreadAndNoOther) {
    for (void (*confine)() : {+[] { confine_relay_thread(); }, +[] { confine_processor_thread(0); },
                              +[] { confine_waiting_thread(getpgrp()); }}) {
        EXPECT_EQ(end_of_confined(confine,
                                  [] {
                                      const std::vector<char> allocated(mib);
                                      _exit(allocated.size() == mib ? 3 : 1);
                                  }),
                  3 << 8);
        EXPECT_EQ(end_of_confined(confine, [] {}), 0);
        for (const auto& refused : std::to_array<std::function<void()>>(
                 {[] { socket(AF_UNIX, SOCK_STREAM, 0); }, [] { kill(getppid(), 0); },
                  [] { prctl(PR_SET_DUMPABLE, 1); }, [] { execl("/bin/true", "true", nullptr); }})) {
            const int status = end_of_confined(confine, refused);
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
        }
        EXPECT_EQ(
            end_of_confined(confine, [] { _exit(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? 4 : 5); }),
            4 << 8);
    }
}

// ---- guests

class KvmGuest : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string lacks = machine::what_lacks("kvm"); !lacks.empty()) {
            GTEST_SKIP() << lacks;
        }
        if (machine::kind_of_kvm() != machine::KvmKind::interpreted) {
            GTEST_SKIP() << "its level 0 is not interpreted";
        }
        kvm_ = open_kvm();
    }

    // `what`: see guest.cpp.
    MonitoredEnd run(char what, double timeout = 60, std::uint64_t memory = 32 * mib) {
        console_.clear();
        RunOptions options;
        options.timeout = timeout;
        options.watch_console = false;
        options.console = [this](std::string_view text) { console_ += text; };
        return run(what, options, memory);
    }

    MonitoredEnd run(char what, const RunOptions& options, std::uint64_t memory,
                     UserMode user_mode = UserMode::with_kernel) {
        const std::vector<std::uint8_t> package(1, static_cast<std::uint8_t>(what));
        RunOptions sized = options;
        sized.memory = memory;
        KvmMachine machine(kvm_, read_kvm_image("guest", read_file(PREVIRT_KVM_GUEST)), sized, package,
                           user_mode);
        std::ostringstream description;
        machine.describe(description);
        MonitoredEnd end = machine.run(sized);
        machine.describe_end(description);
        described_ = description.str();
        said_ = machine.console().vmm().end().value_or("");
        return end;
    }

    [[nodiscard]] const std::string& console() const { return console_; }
    [[nodiscard]] const std::string& said() const { return said_; }
    [[nodiscard]] const std::string& described() const { return described_; } // for --verbose

private:
    Descriptor kvm_;
    std::string console_;
    std::string said_;
    std::string described_;
};

TEST_F(KvmGuest, PrintsAndEnds) {
    const MonitoredEnd end = run('h');
    EXPECT_EQ(console(), "hello\n");
    EXPECT_EQ(said(), "powered off");
    EXPECT_TRUE(end.processor.guest_rang);
    EXPECT_EQ(end.processor.failure, "");
    EXPECT_FALSE(end.machine.timed_out);
}

TEST_F(KvmGuest, IsDescribed) {
    run('h', 60, 33 * mib);
    EXPECT_PRED2(contains, described(),
                 "previrt: KVM: memory slot 0: the guest's RAM, 34 MiB at 0x100000000\n"
                 "previrt: KVM: memory slot 1: the VMM's, ");
    EXPECT_PRED2(contains, described(), " MiB at 0x102200000: image ");
    EXPECT_PRED2(contains, described(), "user mode has page tables that are its kernel's\n");
    EXPECT_PRED2(contains, described(), "previrt: KVM: exits to the monitor: MMIO 1\n"); // the doorbell
    run('3');
    EXPECT_PRED2(contains, described(), "previrt: KVM: exits to the monitor: triple fault 1\n");
    run('s', 0.5);
    EXPECT_PRED2(contains, described(), "previrt: KVM: exits to the monitor: signal ");
}

TEST_F(KvmGuest, PrintsMoreThanARingHolds) {
    run('f');
    std::string expected;
    for (int line = 0; line < 1000; ++line) {
        for (int i = 0; i < 7; ++i) {
            expected += "0123456789";
        }
        expected += '\n';
    }
    EXPECT_EQ(console(), expected);
    EXPECT_EQ(said(), "powered off");
}

TEST_F(KvmGuest, HasAllItsMemory) {
    run('m', 60, 65 * mib);
    EXPECT_EQ(console(), "all is there\n");
}

TEST_F(KvmGuest, KnowsTheTime) {
    const auto nanoseconds = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    };
    const auto before = nanoseconds();
    run('t');
    const auto after = nanoseconds();
    std::uint64_t khz = 0;
    std::int64_t epoch = 0;
    std::uint64_t epoch_time_stamp = 0;
    std::uint64_t time_stamp = 0;
    std::istringstream(console()) >> std::hex >> khz >> epoch >> epoch_time_stamp >> time_stamp;
    EXPECT_GE(epoch, before);
    EXPECT_LE(epoch, after);
    ASSERT_GT(khz, 1000U);
    ASSERT_GT(time_stamp, epoch_time_stamp);
    const std::uint64_t since = (time_stamp - epoch_time_stamp) / (khz / 1000) * 1000;
    EXPECT_LE(epoch + static_cast<std::int64_t>(since), after);
}

// More than the ring holds, on standard input and output.
TEST_F(KvmGuest, EchoesWhatIsTyped) {
    const std::string typed = std::string(20000, 'x') + '.';
    const ScratchDirectory directory;
    const Descriptor keys(open(directory.write("keys", typed).c_str(), O_RDONLY | O_CLOEXEC));
    const std::string path = directory.path("screen");
    const Descriptor screen(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
    RunOptions options;
    options.timeout = 60;
    {
        const StandardStreams streams(keys, screen);
        run('e', options, 32 * mib);
    }
    EXPECT_EQ(read_text(path), "type: " + typed + "\n");
    EXPECT_EQ(said(), "powered off");
}

TEST_F(KvmGuest, IsEndedInTime) {
    const auto begin = std::chrono::steady_clock::now();
    const MonitoredEnd end = run('s', 0.5);
    EXPECT_TRUE(end.machine.timed_out);
    EXPECT_FALSE(end.processor.guest_rang);
    EXPECT_EQ(end.processor.failure, "");
    EXPECT_EQ(console(), "spinning\n");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(KvmGuest, FailuresSayWhatAndWhere) {
    EXPECT_PRED2(contains, run('3').processor.failure, "a triple fault at RIP 0xffffffffffe0");
    EXPECT_PRED2(contains, run('x').processor.failure, "a triple fault at RIP 0xffffffffffe0"); // text
    EXPECT_EQ(console(), "");
    EXPECT_PRED2(contains, run('d').processor.failure,
                 "a write to physical address 0xd0000040, where nothing is, at RIP 0xffffffffffe0");
}

TEST_F(KvmGuest, IsToldWhetherUserModeIsIsolated) {
    EXPECT_EQ(run('i').processor.failure, "");
    EXPECT_EQ(console(), "0000000000000000\n");
    RunOptions options;
    options.watch_console = false;
    std::string printed;
    options.console = [&](std::string_view text) { printed += text; };
    run('i', options, 32 * mib, UserMode::isolated);
    EXPECT_EQ(printed, "0000000000000001\n");
}

TEST_F(KvmGuest, PanicsAndSilencesAreTold) {
    EXPECT_EQ(run('p').machine.panic, "Kernel panic - not syncing: test");
    EXPECT_TRUE(run('w').processor.guest_rang);
    EXPECT_EQ(said(), "");
}

TEST_F(KvmGuest, ACounterThatLiesIsReadAsAFullRing) {
    run('c');
    EXPECT_TRUE(console().ends_with("\nnonsense is over\n"));
    EXPECT_LT(console().size(), 3 * sizeof(monitored::ConsoleRing));
    EXPECT_EQ(said(), "powered off");
}

TEST_F(KvmGuest, ManyInOneProcess) {
    for (int i = 0; i < 20; ++i) {
        run('h');
        EXPECT_EQ(console(), "hello\n");
    }
}

} // namespace

} // namespace previrt
