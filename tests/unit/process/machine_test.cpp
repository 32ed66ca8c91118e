// SPDX-License-Identifier: BSD-2-Clause
// The monitor of processes, with a guest of a few lines (guest.cpp) that is kept from this machine by each of
// the plans.
#include "host/passed_descriptors.hpp"
#include "monitor/process/clock.hpp"
#include "monitor/process/machine.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "monitor/process/child.hpp"
#include "tests/machine/machine.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/standard_streams.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

class ProcessGuest : public testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override {
        plans_ = std::span(process_plans).subspan(GetParam(), 1);
        constexpr const char* namespaces = "--fork --pid --mount --net --ipc --uts --cgroup true";
        std::vector<std::string> needs{"process"};
        if (plan().other_namespaces) {
            needs.push_back(std::string("can:unshare ") + (plan().user_namespace ? "--user " : "") +
                            namespaces);
        }
        for (const std::string& need : needs) {
            if (const std::string lacks = machine::what_lacks(need); !lacks.empty()) {
                GTEST_SKIP() << lacks;
            }
        }
    }

    [[nodiscard]] const ProcessPlan& plan() const { return plans_.front(); }

    static ProcessImage image() { return read_process_image("guest", read_file(PREVIRT_PROCESS_GUEST)); }
    [[nodiscard]] std::unique_ptr<ProcessMachine> machine(char what, const RunOptions& options) const {
        return std::make_unique<ProcessMachine>(options, image(), ProcessClock().read(),
                                                std::vector<std::uint8_t>(1, static_cast<std::uint8_t>(what)),
                                                plans_);
    }

    // `what`: see guest.cpp.
    MonitoredEnd run(char what, double timeout = 60, std::uint64_t memory = 32 * mib) {
        console_.clear();
        RunOptions options;
        options.timeout = timeout;
        options.memory = memory;
        options.watch_console = false;
        options.console = [this](std::string_view text) { console_ += text; };
        return run(what, options);
    }
    MonitoredEnd run(char what, const RunOptions& options) {
        const std::unique_ptr<ProcessMachine> made = machine(what, options);
        std::ostringstream description;
        made->describe(description);
        described_ = description.str();
        const MonitoredEnd end = made->run(options);
        said_ = made->console().vmm().end().value_or("");
        return end;
    }

    [[nodiscard]] const std::string& console() const { return console_; }
    [[nodiscard]] const std::string& said() const { return said_; }
    [[nodiscard]] const std::string& described() const { return described_; }

private:
    std::span<const ProcessPlan> plans_;
    std::string console_;
    std::string said_;
    std::string described_;
};

TEST_P(ProcessGuest, PrintsAndEnds) {
    const MonitoredEnd end = run('h');
    EXPECT_EQ(console(), "hello\n");
    EXPECT_EQ(said(), "powered off");
    EXPECT_EQ(end.processor.failure, "");
    EXPECT_FALSE(end.machine.timed_out);
}

TEST_P(ProcessGuest, PrintsMoreThanARingHolds) {
    run('l');
    std::string expected;
    for (int line = 0; line < 1000; ++line) {
        for (int i = 0; i < 7; ++i) {
            expected += "0123456789";
        }
        expected += '\n';
    }
    EXPECT_EQ(console(), expected);
}

TEST_P(ProcessGuest, HasAllItsMemory) {
    run('m', 60, 65 * mib);
    EXPECT_EQ(console(), "all is there\n");
}

TEST_P(ProcessGuest, EchoesWhatIsTyped) {
    const std::string typed = std::string(20000, 'x') + '.';
    const ScratchDirectory directory;
    const Descriptor keys(open(directory.write("keys", typed).c_str(), O_RDONLY | O_CLOEXEC));
    const std::string path = directory.path("screen");
    const Descriptor screen(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
    RunOptions options;
    options.timeout = 60;
    options.memory = 32 * mib;
    {
        const StandardStreams streams(keys, screen);
        run('e', options);
    }
    EXPECT_EQ(read_text(path), "type: " + typed + "\n");
    EXPECT_EQ(said(), "powered off");
}

// ---- its ends

TEST_P(ProcessGuest, AnyEndOfAnyProcessIsTold) {
    EXPECT_EQ(run('x').processor.failure, "a process ended with status 77");
    EXPECT_EQ(run('o').processor.failure, "a process ended with status 5");
    EXPECT_EQ(run('k').processor.failure, "signal Killed");
    EXPECT_EQ(run('u').processor.failure, "signal Illegal instruction");
    EXPECT_EQ(run('w').processor.failure, "");
    EXPECT_EQ(said(), "");
}

TEST_P(ProcessGuest, PanicsAreTold) {
    EXPECT_EQ(run('p').machine.panic, "Kernel panic - not syncing: test");
}

TEST_P(ProcessGuest, IsEndedInTime) {
    const auto begin = std::chrono::steady_clock::now();
    const MonitoredEnd end = run('s', 0.5);
    EXPECT_TRUE(end.machine.timed_out);
    EXPECT_EQ(console(), "spinning\n");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_P(ProcessGuest, LyingRingsAreReadAsFullOnes) {
    EXPECT_EQ(run('r').processor.failure, "");
    EXPECT_LT(console().size(), 2001 * sizeof(monitored::ConsoleRing::bytes));
}

TEST_P(ProcessGuest, ManyInOneProcess) {
    for (int i = 0; i < 10; ++i) {
        run('h');
        EXPECT_EQ(console(), "hello\n");
        run('o');
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1); // all that there were have been waited for
}

TEST_P(ProcessGuest, OneThatIsNotRunLeavesNothing) {
    RunOptions options;
    options.memory = 32 * mib;
    machine('s', options).reset();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// A descriptor on its way counts against its sender's user, whom many guests share.
TEST_P(ProcessGuest, StartsWhileAnothersDescriptorIsOnItsWay) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const Descriptor unread(ends[0]);
    Descriptor sender(ends[1]);
    const pid_t another = fork();
    if (another == 0) {
        const bool is_guests_user = geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0;
        _exit(is_guests_user && send_with_descriptors(sender.number(), std::array<std::uint8_t, 1>{},
                                                      std::array{sender.number()})
                  ? 0
                  : 1);
    }
    sender.close();
    int status = -1;
    ASSERT_EQ(waitpid(another, &status, 0), another);
    ASSERT_EQ(status, 0);
    run('h');
    EXPECT_EQ(console(), "hello\n");
}

// ---- what it has of this machine

TEST_P(ProcessGuest, HasThreeDescriptors) {
    const Descriptor inherited(
        open("/dev/null", O_RDONLY)); // NOLINT(android-cloexec-open): by whom we were started
    run('d');
    EXPECT_EQ(console(), "open 3\nopen 4\nopen 7\n");
}

TEST_P(ProcessGuest, HasNoPrivilegesAndNoFiles) {
    run('c');
    const auto answer = [&](const std::string& question) {
        const std::size_t at = console().find(question + " ");
        EXPECT_NE(at, std::string::npos) << console();
        return at == std::string::npos ? -1 : std::stol(console().substr(at + question.size()));
    };
    EXPECT_EQ(answer("capabilities"), 0);
    EXPECT_EQ(answer("no new privileges"), 1);
    EXPECT_EQ(answer("the root"), -EMFILE);
    EXPECT_EQ(answer("a socket"), -EMFILE);
    if (plan().other_namespaces) {
        EXPECT_EQ(answer("process"), 2);
        EXPECT_EQ(answer("parent"), 1); // the keeper
        EXPECT_EQ(answer("a file"), -ENOENT);
        EXPECT_LT(answer("a new directory"), 0);
    }
    if (plan().user_namespace || geteuid() == 0) {
        EXPECT_EQ(answer("user"), 65534);
    }
}

TEST_P(ProcessGuest, MakesAsManyProcessesAsAVmmAndNoMore) {
    run('f');
    EXPECT_EQ(console(), "made 15\n") << described();
}

TEST_P(ProcessGuest, IsDescribed) {
    run('h');
    const std::string namespaces =
        !plan().other_namespaces ? ", no namespaces of its own (" : ", namespaces of its own, ";
    EXPECT_PRED2(contains, described(), ": a seccomp filter, no privileges" + namespaces);
    EXPECT_EQ(contains(described(), ", for users too, an empty root, "), plan().user_namespace);
    EXPECT_PRED2(contains, described(), ", 16 processes at most");
}

// What others see of it.
TEST_P(ProcessGuest, IsSeenAsItSays) {
    RunOptions options;
    options.memory = 32 * mib;
    const std::unique_ptr<ProcessMachine> made = machine('s', options);
    std::ostringstream description;
    made->describe(description);
    const std::string text = description.str();
    const std::string children = "are children of ";
    const pid_t keeper = std::stoi(text.substr(text.find(children) + children.size()));
    const std::string process = "/proc/" + std::to_string(keeper);
    const std::string status = read_text(process + "/status");
    for (const char* const line :
         {"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
          "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"}) {
        EXPECT_PRED2(contains, status, line);
    }
    EXPECT_EQ(read_text(process + "/oom_score_adj"), "500\n");
    const std::string limits = read_text(process + "/limits");
    EXPECT_PRED2(contains, limits, "Max core file size        0                    0 ");
    EXPECT_PRED2(contains, limits, "Max open files            0                    0 ");
    EXPECT_PRED2(contains, limits, "Max file size             0                    0 ");
    for (const char* const name : {"mnt", "net", "ipc", "uts", "pid", "cgroup"}) {
        std::error_code error;
        const auto theirs = std::filesystem::read_symlink(process + "/ns/" + name, error);
        if (!error) { // root may look
            EXPECT_EQ(theirs != std::filesystem::read_symlink("/proc/self/ns/" + std::string(name)),
                      plan().other_namespaces)
                << name;
        }
    }
}

// ---- whatever dies first, nothing outlives it

struct SeenProcess {
    pid_t number;
    pid_t parent;
};

// Of this group, but for those that only wait to be waited for.
std::vector<SeenProcess> processes_of_group(pid_t group) {
    std::vector<SeenProcess> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream file(entry.path() / "stat");
        std::string text;
        std::getline(file, text);
        std::istringstream fields(text.substr(text.rfind(')') + 1));
        char state = 'X';
        SeenProcess process{};
        pid_t its_group = 0;
        fields >> state >> process.parent >> its_group;
        if (its_group == group && state != 'Z' && state != 'X') {
            process.number = std::stoi(entry.path().filename());
            found.push_back(process);
        }
    }
    return found;
}

// A monitor in a process of its own, of a guest whose processes cling to life.
class MonitorProcess {
public:
    explicit MonitorProcess(const std::function<std::unique_ptr<ProcessMachine>()>& make_machine) {
        prctl(PR_SET_CHILD_SUBREAPER, 1); // or init waits for them at its leisure
        const Pipe told = make_pipe();
        monitor_ = fork();
        if (monitor_ == 0) {
            const std::unique_ptr<ProcessMachine> made = make_machine();
            std::ostringstream description;
            made->describe(description);
            const std::string text = description.str();
            [[maybe_unused]] const ssize_t written = write(told.write.number(), text.data(), text.size());
            RunOptions options;
            options.watch_console = false;
            made->run(options);
            _exit(0);
        }
        std::string text(1000, ' ');
        text.resize(static_cast<std::size_t>(read(told.read.number(), text.data(), text.size())));
        const std::string children = "are children of ";
        keeper_ = std::stoi(text.substr(text.find(children) + children.size()));
    }
    ~MonitorProcess() {
        for (const SeenProcess& process : processes_of_group(keeper_)) {
            kill(process.number, SIGKILL);
        }
        kill(monitor_, SIGKILL);
        waitpid(monitor_, nullptr, 0);
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
    MonitorProcess(const MonitorProcess&) = delete;
    MonitorProcess& operator=(const MonitorProcess&) = delete;

    [[nodiscard]] pid_t monitor() const { return monitor_; }
    [[nodiscard]] pid_t keeper() const { return keeper_; }

    // Those beside the keeper, the oldest first; as many as guest.cpp makes.
    [[nodiscard]] std::vector<pid_t> guests() const {
        constexpr std::size_t made = 7;
        std::vector<pid_t> guests;
        wait_for([&] {
            guests.clear();
            for (const SeenProcess& process : processes_of_group(keeper_)) {
                if (process.number != keeper_) {
                    guests.push_back(process.number);
                }
            }
            return guests.size() == made;
        });
        EXPECT_EQ(guests.size(), made);
        std::ranges::sort(guests);
        return guests;
    }
    [[nodiscard]] std::size_t left() const {
        wait_for([&] { return processes_of_group(keeper_).empty(); });
        return processes_of_group(keeper_).size();
    }

private:
    template <typename Condition>
    static void wait_for(const Condition& condition) {
        for (int i = 0; i < 300 && !condition(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    pid_t monitor_ = 0;
    pid_t keeper_ = 0;
};

TEST_P(ProcessGuest, NoneOutlivesAnyOther) {
    RunOptions options;
    options.memory = 32 * mib;
    const auto make = [&] { return machine('n', options); };
    struct Death {
        const char* of;
        std::function<void(const MonitorProcess&, const std::vector<pid_t>& guests)> come;
    };
    const auto deaths = std::to_array<Death>({
        {.of = "the monitor",
         .come = [](const MonitorProcess& of, const auto&) { kill(of.monitor(), SIGKILL); }},
        {.of = "the keeper",
         .come = [](const MonitorProcess& of, const auto&) { kill(of.keeper(), SIGKILL); }},
        {.of = "the first of the guest's",
         .come = [](const MonitorProcess&, const auto& guests) { kill(guests.front(), SIGKILL); }},
        {.of = "the last of the guest's",
         .come = [](const MonitorProcess&, const auto& guests) { kill(guests.back(), SIGKILL); }},
        {.of = "the monitor, while the keeper is stopped",
         .come =
             [](const MonitorProcess& of, const auto&) {
                 kill(of.keeper(), SIGSTOP);
                 kill(of.monitor(), SIGKILL);
             }},
        {.of = "the keeper, and then the monitor",
         .come =
             [](const MonitorProcess& of, const auto&) {
                 kill(of.keeper(), SIGKILL);
                 kill(of.monitor(), SIGKILL);
             }},
    });
    for (const Death& death : deaths) {
        const MonitorProcess monitor(make);
        const std::vector<pid_t> guests = monitor.guests();
        ASSERT_FALSE(guests.empty());
        kill(monitor.monitor(), SIGSTOP); // it does nothing about it
        death.come(monitor, guests);
        EXPECT_EQ(monitor.left(), 0U) << "death of " << death.of;
    }
}

std::string name_of_plan(const testing::TestParamInfo<std::size_t>& plan) {
    constexpr std::array names = {"AllNamespaces", "NotOfUsers", "NoNamespaces"};
    return names.at(plan.param);
}

INSTANTIATE_TEST_SUITE_P(Plans, ProcessGuest, testing::Range(std::size_t{0}, process_plans.size()),
                         name_of_plan);

} // namespace

} // namespace previrt
