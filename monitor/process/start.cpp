// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/start.hpp"

#include "host/input_error.hpp"
#include "host/passed_descriptors.hpp"
#include "monitor/process/child.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <span>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

std::string system_error(int error) {
    return std::generic_category().message(error);
}

// Whether Linux counts each user namespace separately; otherwise it counts all of the user's processes.
bool linux_counts_by_namespace() {
    utsname system{};
    uname(&system);
    const std::string release = system.release;
    const int major = std::stoi(release);
    const int minor = std::stoi(release.substr(release.find('.') + 1));
    return major > 5 || (major == 5 && minor >= 14);
}

bool write_file_of_process(pid_t process, const char* name, const std::string& text) {
    const Descriptor file(
        open(("/proc/" + std::to_string(process) + "/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    return file.number() >= 0 &&
           write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string map_of(unsigned inside, unsigned outside) {
    return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
}

// Maps the user nobody inside to nobody outside, if this process may; otherwise to this process's user.
// Returns the user.
std::optional<uid_t> map_users(pid_t process) {
    if (geteuid() == 0 && write_file_of_process(process, "uid_map", map_of(nobody, nobody)) &&
        write_file_of_process(process, "gid_map", map_of(nogroup, nogroup))) {
        return nobody;
    }
    const bool mapped = write_file_of_process(process, "setgroups", "deny") &&
                        write_file_of_process(process, "uid_map", map_of(nobody, geteuid())) &&
                        write_file_of_process(process, "gid_map", map_of(nogroup, getegid()));
    return mapped ? std::optional(geteuid()) : std::nullopt;
}

std::string remedy(ProcessStep step) {
    return step == ProcessStep::processes
               ? "; a seccomp filter that asks is there already, and Linux does not count root's processes: "
                 "start it as another user"
               : "";
}

struct Attempt {
    StartedProcess started;
    std::string failure;
};

class Start {
public:
    Start(const ProcessProgram& program, const ProcessPlan& plan) : program_(program), plan_(plan) {
        make_channel();
    }

    Attempt run() {
        const pid_t process = clone_child();
        if (process < 0) {
            return {.started = StartedProcess(), .failure = std::string("clone: ") + system_error(errno)};
        }
        theirs_.close();
        Attempt attempt;
        attempt.started.process = process;
        attempt.failure = prepare(process);
        if (attempt.failure.empty()) {
            attempt.failure = await(attempt.started);
        }
        if (!attempt.failure.empty() || program_.file < 0) {
            kill(process, SIGKILL);
            waitpid(process, nullptr, 0);
        }
        attempt.started.channel = std::move(ours_);
        return attempt;
    }

private:
    pid_t clone_child() {
        constexpr std::uint64_t others =
            CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        const std::uint64_t namespaces =
            (plan_.user_namespace ? CLONE_NEWUSER : 0) | (plan_.other_namespaces ? others : 0);
        is_counted_ = plan_.user_namespace && linux_counts_by_namespace();
        const rlim_t most_processes = rlim_t{program_.processes} + 1; // and the keeper
        const rlim_t own = is_counted_ ? most_processes : RLIM_INFINITY;
        const rlim_t own_signals = is_counted_ ? 4 * most_processes : RLIM_INFINITY; // timers too
        const ProcessChild child{.has_user_namespace = plan_.user_namespace,
                                 .has_mount_namespace = plan_.other_namespaces,
                                 .file = program_.file,
                                 .memory = program_.memory,
                                 .output = program_.output,
                                 .packets = program_.packets,
                                 .vsock = program_.vsock,
                                 .console_ports = program_.console_ports,
                                 .disks = program_.disks,
                                 .folders = program_.folders,
                                 .monitor = theirs_.number(),
                                 .monitors_own = ours_.number(),
                                 .processes = program_.processes,
                                 .limits = {{{.resource = RLIMIT_CORE, .most = 0},
                                             {.resource = RLIMIT_FSIZE, .most = 0},
                                             {.resource = RLIMIT_MEMLOCK, .most = 0},
                                             {.resource = RLIMIT_MSGQUEUE, .most = 0},
                                             {.resource = RLIMIT_RTPRIO, .most = 0},
                                             {.resource = RLIMIT_NOFILE, .most = most_descriptors()},
                                             {.resource = RLIMIT_AS, .most = program_.address_space},
                                             {.resource = RLIMIT_NPROC, .most = own},
                                             {.resource = RLIMIT_SIGPENDING, .most = own_signals}}}};
        // fork() would make no namespaces.
        const auto process = static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0));
        if (process == 0) {
            become_process(child);
        }
        return process;
    }

    // The program makes its listeners, and then permits itself none.
    [[nodiscard]] rlim_t most_descriptors() const {
        return program_.user_listeners == 0 ? 0 : process::first_user_listener + program_.user_listeners;
    }

    std::string prepare(pid_t process) {
        // If memory is short, Linux kills a guest first. If this fails, nothing is lost.
        write_file_of_process(process, "oom_score_adj", "500");
        if (plan_.user_namespace) {
            const std::optional<uid_t> user = map_users(process);
            if (!user) {
                return std::string("a map of its users: ") + system_error(errno);
            }
            is_another_user_ = *user != geteuid();
            is_counted_ = is_counted_ && *user != 0; // Linux counts none of root's
        }
        const ProcessGo unless_counted = // a process has at most one filter that asks
            program_.user_listeners != 0 ? ProcessGo::bound_processes_of_user : ProcessGo::ask_for_processes;
        const ProcessGo go = is_counted_ ? ProcessGo::processes_are_counted : unless_counted;
        return send(ours_.number(), &go, sizeof go, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof go)
                   ? ""
                   : std::string("its start: ") + system_error(errno);
    }

    // Until it could become the program.
    std::string await(StartedProcess& started) {
        ProcessChildReport report{};
        bool has_ended = false;
        while (report.failed == ProcessStep::none && !report.is_ready && !has_ended) {
            has_ended = !receive(report, started.asked);
        }
        if (report.failed != ProcessStep::none) {
            return std::string(process_step_names.at(static_cast<std::size_t>(report.failed))) + ": " +
                   system_error(report.error) + remedy(report.failed);
        }
        started.layers = {.has_user_namespace = plan_.user_namespace,
                          .has_other_namespaces = plan_.other_namespaces,
                          .has_empty_root = report.has_empty_root,
                          .is_another_user = is_another_user_ || report.is_another_user,
                          .processes = ProcessesBoundedBy::host,
                          .most_processes = program_.processes,
                          .lacking = {}};
        if (!is_counted_) {
            started.layers.processes =
                started.asked.number() >= 0 ? ProcessesBoundedBy::monitor : ProcessesBoundedBy::host_by_user;
        }
        return has_ended ? "it ended before it had begun" : "";
    }

    // False: it has closed its end.
    bool receive(ProcessChildReport& report, Descriptor& asked) {
        const std::span bytes(reinterpret_cast<std::uint8_t*>(&report), sizeof report);
        return receive_with_descriptors(ours_.number(), bytes, {&asked, 1}).bytes == bytes.size();
    }

    void make_channel() {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            throw InputError("socketpair: " + system_error(errno));
        }
        ours_ = Descriptor(ends[0]);
        theirs_ = Descriptor(ends[1]);
    }

    const ProcessProgram& program_;
    const ProcessPlan& plan_;
    Descriptor ours_;
    Descriptor theirs_;
    bool is_counted_ = false;
    bool is_another_user_ = false;
};

const char* describe(ProcessesBoundedBy who) {
    switch (who) {
    case ProcessesBoundedBy::host:
        break;
    case ProcessesBoundedBy::monitor:
        return ", each by its monitor's leave";
    case ProcessesBoundedBy::host_by_user:
        return ", with all others of the same user's that there are";
    }
    return "";
}

} // namespace

std::string describe(const ProcessLayers& layers) {
    std::string text = "a seccomp filter, no privileges";
    if (layers.has_user_namespace) {
        text += ", namespaces of its own, for users too";
    } else if (layers.has_other_namespaces) {
        text += ", namespaces of its own, but for users (" + layers.lacking + ")";
    } else {
        text += ", no namespaces of its own (" + layers.lacking + ")";
    }
    text += layers.has_empty_root ? ", an empty root" : "";
    text += layers.is_another_user ? ", the user nobody" : "";
    text += ", " + std::to_string(layers.most_processes) + " processes at most";
    return text + describe(layers.processes);
}

std::vector<std::string> missing_layers(const ProcessLayers& layers) {
    std::vector<std::string> missing;
    if (!layers.has_other_namespaces) {
        missing.emplace_back("namespaces of its own");
    } else if (!layers.has_user_namespace) {
        missing.emplace_back("a user namespace of its own");
    }
    if (!layers.has_empty_root) {
        missing.emplace_back("an empty root");
    }
    if (geteuid() == 0 && !layers.is_another_user) {
        missing.emplace_back("a user other than root");
    }
    return missing;
}

StartedProcess start_process(const ProcessProgram& program, std::span<const ProcessPlan> plans) {
    std::string lacking;
    std::string failure;
    for (const ProcessPlan& plan : plans) {
        Attempt attempt = Start(program, plan).run();
        if (attempt.failure.empty()) {
            attempt.started.layers.lacking = lacking;
            return std::move(attempt.started);
        }
        failure = attempt.failure;
        lacking = lacking.empty() ? failure : lacking;
    }
    throw InputError("--on process: this machine starts no guest: " + failure);
}

std::string begin_process(StartedProcess& started) {
    const auto go = ProcessGo::become_the_program;
    ProcessChildReport report{};
    ssize_t got = -1;
    if (write(started.channel.number(), &go, sizeof go) == static_cast<ssize_t>(sizeof go)) {
        do {
            got = read(started.channel.number(), &report,
                       sizeof report); // nothing to read: it is the program now
        } while (got < 0 && errno == EINTR);
    }
    return got == 0 ? "" : system_error(got < 0 ? errno : report.error);
}

ProcessLayers find_process_layers() {
    return start_process({}).layers;
}

Descriptor make_executable(std::span<const std::uint8_t> file) {
    constexpr unsigned executable = 0x10; // MFD_EXEC, since Linux 6.3
    Descriptor made(memfd_create("previrt-process", MFD_CLOEXEC | executable));
    if (made.number() < 0 && errno == EINVAL) {
        made = Descriptor(memfd_create("previrt-process", MFD_CLOEXEC));
    }
    for (std::size_t done = 0; made.number() >= 0 && done < file.size();) {
        const ssize_t written = write(made.number(), file.data() + done, file.size() - done);
        if (written <= 0) {
            throw InputError("the VMM's image: " + system_error(errno));
        }
        done += static_cast<std::size_t>(written);
    }
    if (made.number() < 0) {
        throw InputError("the VMM's image: memfd_create: " + system_error(errno) +
                         " (vm.memfd_noexec must not be 2)");
    }
    return made;
}

} // namespace previrt
