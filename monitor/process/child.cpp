// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/child.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/passed_descriptors.hpp"
#include "monitor/process/clone_quota.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <span>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {

namespace {

class Child {
public:
    explicit Child(const ProcessChild& child) : child_(child) {}

    [[noreturn]] void become() {
        close(child_.monitors_own);
        const ProcessGo go = await_monitor();
        drop_what_programs_could_gain();
        if (child_.has_user_namespace) {
            require(become_nobody(), ProcessStep::user); // the namespace has no other user
        }
        empty_root();
        if (!child_.has_user_namespace &&
            may(CAP_KILL)) { // otherwise the monitor could not kill this process
            report_.is_another_user = syscall(SYS_setgroups, 0, nullptr) == 0 && become_nobody();
        }
        forget_signals();
        end_with_monitor();
        drop_privileges();
        tie_to_keeper();
        move_descriptors();
        const int asked = go == ProcessGo::ask_for_processes ? ask_for_processes() : -1;
        if (go == ProcessGo::bound_processes_of_user || (go == ProcessGo::ask_for_processes && asked < 0)) {
            bound_processes_of_user();
        }
        // Before the limits: if the user has other descriptors in transit, this process's limit counts them
        // too.
        require(say(asked), ProcessStep::monitor);
        set_limits();
        report_.is_ready = true;
        require(say(), ProcessStep::monitor);
        await_monitor();
        char name[] = "previrt-process";
        char* const arguments[] = {name, nullptr};
        char* const environment[] = {nullptr};
        syscall(SYS_execveat, image_place, "", arguments, environment, AT_EMPTY_PATH);
        fail(ProcessStep::program);
    }

private:
    enum Place : std::uint8_t { image_place = process::last_event + 1, monitor_place, first_closed };

    // A descriptor goes with it; -1: none.
    bool say(int descriptor = -1) {
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(&report_), sizeof report_);
        return send_with_descriptors(monitor_, bytes, {&descriptor, descriptor >= 0 ? std::size_t{1} : 0});
    }
    [[noreturn]] void fail(ProcessStep step) {
        report_.error = errno;
        report_.failed = step;
        say();
        _exit(1);
    }
    void require(bool done, ProcessStep step) {
        if (!done) {
            fail(step);
        }
    }

    [[nodiscard]] static bool may(unsigned capability) {
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
        return syscall(SYS_capget, &header, &data) == 0 &&
               (data[capability / 32].effective >> (capability % 32) & 1U) != 0;
    }

    ProcessGo await_monitor() {
        ProcessGo go{};
        ssize_t got = 0;
        do {
            got = read(monitor_, &go, sizeof go);
        } while (got < 0 && errno == EINTR);
        if (got == 0) {
            _exit(1); // the monitor has ended
        }
        require(got == sizeof go, ProcessStep::monitor);
        return go;
    }

    // The C library would change other threads too, which are the monitor's.
    static bool become_nobody() {
        return syscall(SYS_setresgid, nogroup, nogroup, nogroup) == 0 &&
               syscall(SYS_setresuid, nobody, nobody, nobody) == 0;
    }

    void empty_root() {
        if (child_.has_mount_namespace) {
            constexpr const char* place = "/proc"; // any existing directory
            constexpr unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
            require(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount("none", place, "tmpfs", flags, "size=4k,nr_inodes=1") == 0 &&
                        chdir(place) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
                        umount2(".", MNT_DETACH) == 0 && chdir("/") == 0,
                    ProcessStep::empty_root);
            report_.has_empty_root = true;
        } else if (may(CAP_SYS_CHROOT)) {
            // Nothing can be created in a removed directory.
            char name[] = "/tmp/previrt-XXXXXX";
            report_.has_empty_root =
                mkdtemp(name) != nullptr && chdir(name) == 0 && rmdir(name) == 0 && chroot(".") == 0;
        }
    }

    // After the change of the user, at which Linux forgets this setting.
    void end_with_monitor() {
        pollfd gone{.fd = monitor_, .events = 0, .revents = 0};
        require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && poll(&gone, 1, 0) >= 0, ProcessStep::monitor);
        if ((gone.revents & POLLHUP) != 0) {
            _exit(1); // the parent ended before the setting took effect
        }
    }

    // The monitor's doorbell goes to the whole group, also to processes without a handler.
    static void forget_signals() {
        setpgid(0, 0);
        for (int number = 1; number < NSIG; ++number) {
            signal(number, SIG_DFL);
        }
        signal(process::event_signal, SIG_IGN);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
    }

    // This process becomes the keeper; its children close its end of the pipe. When no process has that end
    // any more, Linux sends the signal that the owner of the other end chose to that owner, the group. No
    // guest can close that end or choose anew: its filter permits neither call.
    void tie_to_keeper() {
        int ends[2] = {-1, -1};
        require(pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETSIG, SIGKILL) == 0 &&
                    fcntl(ends[0], F_SETOWN, -getpid()) == 0 && fcntl(ends[0], F_SETFL, O_ASYNC) == 0,
                ProcessStep::life_line);
        life_line_ = ends[0];
        keepers_end_ = ends[1];
    }

    // For a machine on which no filter of previrt's can ask, because another one does: Linux bounds all
    // processes of the user. The limit lies above the present number. Linux counts none of root's, so root
    // can hold no guest by it.
    void bound_processes_of_user() {
        rlimit limit{};
        require(getrlimit(RLIMIT_NPROC, &limit) == 0, ProcessStep::processes);
        const rlim_t most = limit.rlim_max;
        rlim_t refusing = 0; // as a limit: no further process is possible
        rlim_t allowing = most < most_counted ? most : most_counted;
        errno = EPERM;
        require(!may_be_one_more(refusing, most), ProcessStep::processes);
        while (allowing - refusing > 1) {
            const rlim_t middle = refusing + ((allowing - refusing) / 2);
            (may_be_one_more(middle, most) ? allowing : refusing) = middle;
        }
        const rlim_t wanted = refusing + child_.processes;
        limit.rlim_cur = limit.rlim_max = wanted < most ? wanted : most;
        require(setrlimit(RLIMIT_NPROC, &limit) == 0, ProcessStep::processes);
    }
    bool may_be_one_more(rlim_t limit, rlim_t most) {
        const rlimit tried{.rlim_cur = limit, .rlim_max = most};
        require(setrlimit(RLIMIT_NPROC, &tried) == 0, ProcessStep::processes);
        const auto one = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (one == 0) {
            _exit(0);
        }
        require(one > 0 || errno == EAGAIN, ProcessStep::processes);
        while (one > 0 && waitpid(one, nullptr, 0) < 0 && errno == EINTR) {
        }
        return one > 0;
    }

    void set_limits() {
        for (const ProcessLimit& limit : child_.limits) {
            rlimit now{};
            require(getrlimit(limit.resource, &now) == 0, ProcessStep::limits);
            now.rlim_max = now.rlim_max < limit.most ? now.rlim_max : limit.most;
            now.rlim_cur = now.rlim_max;
            require(setrlimit(limit.resource, &now) == 0, ProcessStep::limits);
        }
    }

    void drop_what_programs_could_gain() {
        for (unsigned long capability = 0; may(CAP_SETPCAP) && prctl(PR_CAPBSET_READ, capability) >= 0;
             ++capability) {
            require(prctl(PR_CAPBSET_DROP, capability) == 0, ProcessStep::privileges);
        }
    }

    // An exec does not give root's privileges back either.
    void drop_privileges() {
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
        require(syscall(SYS_capset, &header, &none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
                ProcessStep::privileges);
    }

    // Moves them first to numbers that none of them has.
    void move_descriptors() {
        struct Move {
            int from = -1;
            int to = -1;
            int flags = 0;
        };
        Move moves[9 + backend::most_disks + std::tuple_size_v<FolderEventNumbers>] = {
            {.from = child_.memory, .to = process::memory_descriptor, .flags = 0},
            {.from = child_.output, .to = process::output_event, .flags = 0},
            {.from = child_.packets, .to = process::packet_event, .flags = 0},
            {.from = child_.vsock, .to = process::vsock_event, .flags = 0},
            {.from = child_.console_ports, .to = process::console_ports_event, .flags = 0},
            {.from = life_line_, .to = process::life_line, .flags = 0},
            {.from = keepers_end_, .to = process::keepers_end, .flags = 0},
            {.from = child_.file, .to = image_place, .flags = O_CLOEXEC},
            {.from = child_.monitor, .to = monitor_place, .flags = O_CLOEXEC}};
        for (int disk = 0; disk < int{backend::most_disks}; ++disk) {
            moves[9 + disk] = {.from = child_.disks[static_cast<std::size_t>(disk)],
                               .to = process::first_disk_event + disk};
        }
        for (std::size_t i = 0; i < child_.folders.size(); ++i) {
            moves[9 + backend::most_disks + i] = {.from = child_.folders[i],
                                                  .to = process::folders_event + static_cast<int>(i)};
        }
        int apart[std::size(moves)] = {};
        for (std::size_t i = 0; i < std::size(moves); ++i) {
            apart[i] = moves[i].from < 0 ? -1 : fcntl(moves[i].from, F_DUPFD_CLOEXEC, int{first_closed});
            require(moves[i].from < 0 || apart[i] >= 0, ProcessStep::descriptors);
        }
        for (std::size_t i = 0; i < std::size(moves); ++i) {
            if (apart[i] < 0) {
                close(moves[i].to); // somebody else's
            } else {
                require(dup3(apart[i], moves[i].to, moves[i].flags) >= 0, ProcessStep::descriptors);
            }
        }
        monitor_ = monitor_place;
        for (const int standard : {0, 1, 2}) {
            close(standard);
        }
        closefrom(first_closed);
    }

    static constexpr rlim_t most_counted = rlim_t{1} << 22U; // as many as Linux has process numbers

    const ProcessChild& child_;
    int monitor_ = child_.monitor;
    int life_line_ = -1;
    int keepers_end_ = -1;
    ProcessChildReport report_{};
};

} // namespace

void become_process(const ProcessChild& child) {
    Child(child).become();
}

} // namespace previrt
