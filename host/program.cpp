// SPDX-License-Identifier: BSD-2-Clause
#include "host/program.hpp"

#include "host/input_error.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <set>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::size_t most_output = 65536;

// The Debian package of a program, if it has another name.
std::string package_of(const std::string& name) {
    static const std::map<std::string, std::string> packages = {
        {"apt-cache", "apt"},
        {"apt-get", "apt"},
        {"busybox", "busybox-static"},
        {"depmod", "kmod"},
        {"dpkg-deb", "dpkg"},
        {"hackbench", "rt-tests"},
        {"ld", "binutils"},
        {"ld.lld-19", "lld-19"},
        {"ldd", "libc-bin"},
        {"llvm-objcopy-19", "llvm-19"},
        {"qemu-storage-daemon", "qemu-system-common"},
        {"qemu-system-x86_64", "qemu-system-x86"},
        {"xz", "xz-utils"},
    };
    const auto found = packages.find(name);
    return found == packages.end() ? name : found->second;
}

[[noreturn]] void fail(const std::string& what) {
    throw InputError(what + ": " + std::generic_category().message(errno));
}

// Linux forgets this setting when the user changes.
void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127); // the parent ended before the setting took effect
    }
}

// A program that a guest might take over could type on the terminal, and use descriptors of the process that
// started previrt.
bool leave_terminal_and_descriptors() {
    constexpr unsigned first = STDERR_FILENO + 1;
    return setsid() >= 0 && (close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0 || errno == ENOSYS);
}

// In the child: only calls that are safe after fork.
[[noreturn]] void become(char* const* arguments, char* const* environment, const Program& program,
                         const ProgramDescriptors& descriptors, pid_t parent, int report) {
    const std::array<int, 3> standard = {descriptors.input, descriptors.output, descriptors.error};
    end_with(parent); // so that this program's end leaves no child behind
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr); // the child must not inherit blocked signals
    signal(SIGPIPE, SIG_DFL);
    bool ready = program.directory.empty() || chdir(program.directory.c_str()) == 0;
    for (int i = 0; ready && i < 3; ++i) {
        ready = dup2(standard[static_cast<std::size_t>(i)], i) >= 0;
    }
    ready = ready && (program.rights == Rights::ours || leave_terminal_and_descriptors());
    for (const int number : program.inherited) {
        ready = ready && fcntl(number, F_SETFD, 0) == 0;
    }
    if (ready && take_rights(program.rights)) {
        end_with(parent);
        execvpe(arguments[0], arguments, environment);
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
    _exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (const std::string& text : texts) {
        result.push_back(const_cast<char*>(text.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }
    result.push_back(nullptr);
    return result;
}

std::string remedy_of(int error, const Program& program) {
    if (error == ENOENT) {
        return " (Debian's package " + package_of(program.arguments.front()) + ")";
    }
    return error == EACCES && program.rights == Rights::not_root && geteuid() == 0
               ? " (it is not run as root: others must be able to)"
               : "";
}

} // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    close();
    number_ = std::exchange(other.number_, -1);
    return *this;
}

void Descriptor::close() {
    if (number_ >= 0) {
        ::close(number_);
        number_ = -1;
    }
}

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        fail("pipe");
    }
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

pid_t start_program(const Program& program, const ProgramDescriptors& descriptors) {
    std::vector<std::string> variables;
    for (char** variable = environ; !program.has_own_environment && *variable != nullptr; ++variable) {
        const std::string text = *variable;
        bool replaced = false;
        for (const auto& [name, value] : program.environment) {
            replaced = replaced || text.starts_with(name + "=");
        }
        if (!replaced) {
            variables.push_back(text);
        }
    }
    for (const auto& [name, value] : program.environment) {
        variables.push_back(name + "=" + value);
    }
    const std::vector<char*> arguments = pointers(program.arguments);
    const std::vector<char*> environment = pointers(variables);

    Pipe failure = make_pipe(); // closed by a successful exec
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0) {
        fail("fork");
    }
    if (process == 0) {
        become(arguments.data(), environment.data(), program, descriptors, parent, failure.write.number());
    }
    failure.write.close();
    int error = 0;
    if (read(failure.read.number(), &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
        wait_for_program(process);
        errno = error;
        const std::string& name = program.arguments.front();
        fail("cannot run " + name + remedy_of(error, program));
    }
    return process;
}

int wait_for_program(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            fail("waitpid");
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string path_of_program(const std::string& name) {
    if (name.starts_with('/')) {
        return name;
    }
    const char* const path = std::getenv("PATH");
    // An unprivileged user's PATH may lack sbin.
    std::istringstream directories(std::string(path == nullptr ? "" : path) + ":/sbin:/usr/sbin");
    for (std::string directory; std::getline(directories, directory, ':');) {
        if (std::string file = directory + "/" + name; access(file.c_str(), X_OK) == 0) {
            return file;
        }
    }
    return {};
}

void require_programs(const std::vector<std::string>& names) {
    std::string missing;
    std::string packages;
    std::set<std::string> named;
    for (const std::string& name : names) {
        if (!path_of_program(name).empty()) {
            continue;
        }
        missing += " " + name;
        if (const std::string package = package_of(name); named.insert(package).second) {
            packages += " " + package;
        }
    }
    if (!missing.empty()) {
        throw InputError("these programs are missing:" + missing + " (apt-get install" + packages + ")");
    }
}

namespace {

int run_with_output(const Program& program, bool with_error,
                    const std::function<void(std::string_view text)>& sink) {
    Pipe output = make_pipe();
    ProgramDescriptors descriptors;
    descriptors.output = output.write.number();
    descriptors.error = with_error ? output.write.number() : descriptors.error;
    const pid_t process = start_program(program, descriptors);
    output.write.close();
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = read(output.read.number(), block.data(), block.size())) > 0;) {
        sink(std::string_view(block.data(), static_cast<std::size_t>(got)));
    }
    return wait_for_program(process);
}

} // namespace

int run_program(const Program& program) {
    return wait_for_program(start_program(program, {}));
}

int run_program(const Program& program, const std::function<void(std::string_view line)>& line) {
    std::string rest;
    const int status = run_with_output(program, true, [&](std::string_view text) {
        rest += text;
        std::size_t begin = 0;
        for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
            line(std::string_view(rest).substr(begin, end - begin));
            begin = end + 1;
        }
        rest.erase(0, begin);
    });
    if (!rest.empty()) {
        line(rest);
    }
    return status;
}

ProgramOutput read_program(const Program& program) {
    ProgramOutput result{};
    result.status = run_with_output(program, false, [&](std::string_view text) {
        if (result.text.size() < most_output) {
            result.text += text;
        }
    });
    return result;
}

} // namespace previrt
