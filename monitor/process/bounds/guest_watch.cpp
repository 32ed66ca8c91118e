// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/bounds/guest_watch.hpp"

#include "host/call_filter.hpp"
#include "host/input_error.hpp"
#include "host/readable_files.hpp"
#include "monitor/guest/monitor_confinement.hpp"
#include "monitor/process/bounds/guest_processes.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds each = 10ms;
enum Place : std::uint8_t { directory_place = 0, channel_place = 3 }; // its descriptors

// The reason why it cannot watch; empty: it begins.
struct Start {
    std::array<char, 200> lacking;
};

class Watcher {
public:
    Watcher(pid_t keeper, const GuestBounds& bounds, pid_t monitor)
        : keeper_(keeper), rules_(bounds), monitor_(monitor) {}

    void run(bool as_nobody) {
        Start start{};
        std::optional<GuestProcesses> processes;
        try {
            hold_signals();
            confine(as_nobody);
            processes.emplace(Descriptor(directory_place), keeper_, SIGRTMIN, each);
        } catch (const InputError& error) {
            std::strncpy(start.lacking.data(), error.what(), start.lacking.size() - 1);
        }
        if (tell(start) && processes) {
            watch(*processes);
        }
    }

private:
    void hold_signals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        sigset_t timers;
        sigemptyset(&timers);
        sigaddset(&timers, SIGRTMIN);
        signals_ = Descriptor(signalfd(-1, &timers, SFD_CLOEXEC | SFD_NONBLOCK));
    }

    void confine(bool as_nobody) const {
        (void)allow_reading_beneath(
            "/proc"); // without Landlock, its filter still permits no call that writes files
        if (geteuid() == 0 && as_nobody && !leave_root(false)) {
            throw InputError("it stays root");
        }
        drop_capabilities();
        prctl(PR_SET_PDEATHSIG, SIGKILL); // Linux forgets this setting when the user changes
        if (getppid() != monitor_) {
            throw InputError("the monitor has ended");
        }
        CallFilter filter;
        filter.allow({SCMP_SYS(openat2), SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(close), SCMP_SYS(ppoll),
                      SCMP_SYS(sendto), SCMP_SYS(timer_create), SCMP_SYS(timer_settime),
                      SCMP_SYS(timer_delete), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_setaffinity)});
        filter.apply();
    }

    void watch(GuestProcesses& processes) {
        bool is_on_one = false;
        while (await(processes.lacks_timers() ? each : rules_.wait())) {
            const Look look = processes.look();
            const Verdict verdict = rules_.judge(look);
            if (verdict == Verdict::several_at_once && !is_on_one) {
                is_on_one = true;
                processes.keep_on_one_processor();
                tell(GuestWatch::Finding{.verdict = verdict, .page_tables = look.page_tables});
            } else if (verdict == Verdict::too_much_memory) {
                tell(GuestWatch::Finding{.verdict = verdict, .page_tables = look.page_tables});
            }
        }
    }

    // False: the monitor has ended, or has ended the watch.
    [[nodiscard]] bool await(std::chrono::nanoseconds wait) const {
        std::array<pollfd, 2> waiting = {{{.fd = channel_place, .events = 0, .revents = 0},
                                          {.fd = signals_.number(), .events = POLLIN, .revents = 0}}};
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
        const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
        ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
        std::array<signalfd_siginfo, 16> taken{};
        while (::read(signals_.number(), taken.data(), sizeof taken) > 0) {
        }
        return (waiting[0].revents & (POLLHUP | POLLERR)) == 0;
    }

    // Whether the monitor was told. If it is slow, the next look finds the same again.
    template <typename Message>
    static bool tell(const Message& message) {
        return send(channel_place, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
               static_cast<ssize_t>(sizeof message);
    }

    pid_t keeper_;
    WatchRules rules_;
    pid_t monitor_;
    Descriptor signals_;
};

// Closes all other descriptors of the monitor. Accidental output goes nowhere.
bool keep_two_descriptors(int channel) {
    const int apart = fcntl(channel, F_DUPFD_CLOEXEC, channel_place + 1);
    const int directory = open("/proc", O_PATH | O_CLOEXEC);
    bool kept = apart >= 0 && directory >= 0 && dup2(apart, channel_place) >= 0;
    for (const int standard : {int{directory_place}, 1, 2}) {
        kept = kept && dup2(directory, standard) >= 0;
    }
    closefrom(channel_place + 1);
    return kept;
}

} // namespace

GuestWatch::GuestWatch(pid_t keeper, bool is_nobody, const GuestBounds& bounds) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw InputError("socketpair: " + std::generic_category().message(errno));
    }
    told_ = Descriptor(ends[0]);
    Descriptor theirs(ends[1]);
    const pid_t monitor = getpid();
    malloc_trim(0); // kernel and initrd were here, and the watch would keep a copy
    process_ = fork();
    if (process_ < 0) {
        throw InputError("fork: " + std::generic_category().message(errno));
    }
    if (process_ == 0) {
        prctl(PR_SET_NAME, "previrt-watch");
        if (keep_two_descriptors(theirs.number())) {
            Watcher(keeper, bounds, monitor).run(is_nobody);
        }
        _exit(0);
    }
    theirs.close();
    Start start{};
    if (recv(told_.number(), &start, sizeof start, 0) != static_cast<ssize_t>(sizeof start)) {
        std::strncpy(start.lacking.data(), "it ended at its start", start.lacking.size() - 1);
    }
    lacking_ = start.lacking.data();
    if (!lacking_.empty()) {
        told_.close();
    }
}

GuestWatch::~GuestWatch() {
    told_.close();
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::optional<GuestWatch::Finding> GuestWatch::read() const {
    Finding finding{};
    return ::read(told_.number(), &finding, sizeof finding) == static_cast<ssize_t>(sizeof finding)
               ? std::optional(finding)
               : std::nullopt;
}

} // namespace previrt
