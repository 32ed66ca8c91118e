// SPDX-License-Identifier: BSD-2-Clause
#include "oci/host_runtime.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "oci/store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt::oci {

namespace {

bool has_unified_groups() {
    struct statfs found{};
    return statfs("/sys/fs/cgroup", &found) == 0 && found.f_type == CGROUP2_SUPER_MAGIC;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

void execute(std::vector<std::string> words) {
    // A service's sockets would move the numbers of the descriptors that are ours.
    unsetenv("LISTEN_FDS"); // NOLINT(concurrency-mt-unsafe)
    execv(words.front().c_str(), pointers_to(words).data());
}

// Two steps: a descriptor may have another one's number.
void place_descriptors(const std::vector<int>& passed) {
    constexpr int first = 3;
    constexpr int apart = 100;
    std::vector<int> copies;
    copies.reserve(passed.size());
    for (const int descriptor : passed) {
        copies.push_back(fcntl(descriptor, F_DUPFD_CLOEXEC, apart));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        dup2(copies[i], first + static_cast<int>(i));
    }
}

pid_t start(const GlobalOptions& options, const std::vector<std::string>& command,
            const std::vector<int>& passed, int output) {
    const std::vector<std::string> words = host_command(options, command);
    const pid_t process = fork();
    if (process < 0) {
        throw InputError("fork: " + std::generic_category().message(errno));
    }
    if (process == 0) {
        if (output >= 0) {
            dup2(output, STDOUT_FILENO);
        }
        place_descriptors(passed);
        execute(words);
        _exit(1);
    }
    return process;
}

int handed_on_to = 0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): for the handler

// `run` and `exec` wait for their container.
int wait_for_runtime(pid_t process) {
    handed_on_to = process;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
        std::signal(number, [](int received) { kill(handed_on_to, received); });
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    constexpr int killed = 128;
    return WIFEXITED(status) ? WEXITSTATUS(status) : killed + WTERMSIG(status);
}

} // namespace

std::string find_host_runtime() {
    std::string runc = path_of_program("runc");
    if (!runc.empty()) {
        return runc;
    }
    std::string crun = path_of_program("crun");
    if (crun.empty()) {
        throw InputError("this machine has neither runc nor crun, which sets up cgroups, namespaces and "
                         "mounts for the container (Debian's packages runc and crun)");
    }
    if (!has_unified_groups()) {
        throw InputError("this machine has no runc, and " + crun +
                         " does not work with its cgroups, which are not all of version 2 (Debian's package "
                         "runc)");
    }
    return crun;
}

std::vector<std::string> host_command(const GlobalOptions& options, const std::vector<std::string>& command) {
    std::vector<std::string> words = {find_host_runtime(), "--root", root_of_host_runtime(options.root)};
    if (!options.log.empty()) {
        words.insert(words.end(), {"--log", options.log});
    }
    if (options.log_format != "text") {
        words.insert(words.end(), {"--log-format", options.log_format});
    }
    if (options.systemd_cgroup) {
        words.emplace_back("--systemd-cgroup");
    }
    if (options.debug) {
        words.emplace_back("--debug");
    }
    const bool is_runc = words.front().ends_with("runc");
    if (!options.rootless.empty() && is_runc) {
        words.insert(words.end(), {"--rootless", options.rootless});
    }
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

void become_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command) {
    const std::vector<std::string> words = host_command(options, command);
    execute(words);
    throw InputError(words.front() + ": " + std::generic_category().message(errno));
}

int run_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command,
                     const std::vector<int>& passed) {
    return wait_for_runtime(start(options, command, passed, -1));
}

int read_host_runtime(const GlobalOptions& options, const std::vector<std::string>& command,
                      std::string& output) {
    Pipe pipe = make_pipe();
    const pid_t process = start(options, command, {}, pipe.write.number());
    pipe.write.close();
    std::array<char, 4096> room{};
    ssize_t got = 0;
    while ((got = read(pipe.read.number(), room.data(), room.size())) > 0) {
        output.append(room.data(), static_cast<std::size_t>(got));
    }
    return wait_for_runtime(process);
}

} // namespace previrt::oci
