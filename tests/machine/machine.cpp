// SPDX-License-Identifier: BSD-2-Clause
#include "tests/machine/machine.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <linux/kvm.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace previrt::machine {

namespace {

std::string kvm_lacks() {
    const auto failed = [](const std::string& what) {
        return what + ": " + std::generic_category().message(errno);
    };
    const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (kvm < 0) {
        return failed("/dev/kvm");
    }
    const int version = ioctl(kvm, KVM_GET_API_VERSION, 0);
    const int guest = version == KVM_API_VERSION ? ioctl(kvm, KVM_CREATE_VM, 0) : -1;
    std::string lacks;
    if (version != KVM_API_VERSION) {
        lacks = "/dev/kvm: version " + std::to_string(version) + " of KVM's interface";
    } else if (guest < 0) {
        lacks = failed("/dev/kvm: KVM_CREATE_VM");
    } else {
        close(guest);
    }
    close(kvm);
    return lacks;
}

std::string process_lacks() {
    constexpr unsigned long fsgsbase = 2; // of AT_HWCAP2
    if ((getauxval(AT_HWCAP2) & fsgsbase) == 0) {
        return "programs of this machine have no FSGSBASE instructions";
    }
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) != 0) {
        return "this machine's Linux has no Syscall User Dispatch";
    }
    return "";
}

std::string program_lacks(const std::string& name) {
    const char* const path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody changes it
    std::istringstream directories(path != nullptr ? path : "");
    for (std::string directory; std::getline(directories, directory, ':');) {
        if (access((directory + "/" + name).c_str(), X_OK) == 0) {
            return "";
        }
    }
    return "this machine has no " + name;
}

std::string qemu_lacks() {
    return program_lacks("qemu-system-x86_64");
}

// What these start is downloaded once, by apt.
std::string debian_under_qemu_lacks() {
    const std::string lacks = qemu_lacks();
    return lacks.empty() ? program_lacks("apt-get") : lacks;
}

std::string kernel_lacks(const std::string& directory) {
    return access((directory + "/make").c_str(), X_OK) == 0
               ? ""
               : directory + " is not built (./check --kernels all builds every kernel)";
}

std::string kernels_lack(const std::string& group) {
    const char* const asked = std::getenv("PREVIRT_KERNELS"); // NOLINT(concurrency-mt-unsafe)
    const std::string_view kernels = asked != nullptr ? asked : "default";
    return kernels == "all" || kernels == group ? "" : "--kernels " + std::string(kernels) + " leaves it out";
}

std::string processors_lack(const std::string& number) {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    sched_getaffinity(0, sizeof ours, &ours);
    return CPU_COUNT(&ours) >= std::stoi(number)
               ? ""
               : "this machine has " + std::to_string(CPU_COUNT(&ours)) + " processors";
}

// Silently.
bool shell_succeeds(const std::string& command) {
    const pid_t process = fork();
    if (process == 0) {
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        execlp("sh", "sh", "-c", command.c_str(), nullptr);
        _exit(1);
    }
    int status = -1;
    waitpid(process, &status, 0);
    return status == 0;
}

std::string shell_lacks(const std::string& command) {
    if (command.find("previrt") != std::string::npos) {
        throw std::invalid_argument("can:" + command + ": a need must not ask previrt");
    }
    return shell_succeeds(command) ? "" : "this machine refuses '" + command + "'";
}

std::string python_package_lacks(const std::string& package) {
    const std::string install = R"(
        cache=${PREVIRT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/previrt}/pypi
        package=')" + package + R"('
        mkdir -p "$cache" && exec 9>"$cache.lock" && flock 9 || exit 1
        [ -e "$cache/$package" ] && exit
        rm -rf "$cache/$package.new"
        timeout 100 python3 -m pip install --quiet --target "$cache/$package.new" "$package" &&
            mv "$cache/$package.new" "$cache/$package")";
    return shell_succeeds(install) ? "" : "python3 -m pip installs no " + package + " here";
}

std::string perf_events_lack() {
    perf_event_attr time{};
    time.type = PERF_TYPE_SOFTWARE;
    time.size = sizeof time;
    time.config = PERF_COUNT_SW_TASK_CLOCK;
    time.disabled = 1;
    const auto counter =
        static_cast<int>(syscall(SYS_perf_event_open, &time, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (counter < 0) {
        return "perf_event_open: " + std::generic_category().message(errno);
    }
    close(counter);
    return "";
}

// Of a child, with an instruction breakpoint.
std::string ptrace_lacks() {
    const auto failed = [](const std::string& what) {
        return what + ": " + std::generic_category().message(errno);
    };
    const pid_t process = fork();
    if (process == 0) {
        pause();
        _exit(1);
    }
    std::string lacks;
    int status = 0;
    if (ptrace(PTRACE_SEIZE, process, nullptr, PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr) != 0 ||
        waitpid(process, &status, __WALL) != process) {
        lacks = failed("ptrace of a child");
    } else if (ptrace(PTRACE_POKEUSER, process, offsetof(user, u_debugreg), &ptrace_lacks) != 0 ||
               ptrace(PTRACE_POKEUSER, process, offsetof(user, u_debugreg) + (7 * sizeof(long)), 1) != 0) {
        lacks = failed("a debug register by ptrace");
    }
    kill(process, SIGKILL);
    waitpid(process, &status, __WALL);
    return lacks;
}

std::string root_lacks() {
    return geteuid() == 0 ? "" : "it takes root";
}

std::string interpreted_kvm_lacks() {
    const std::string lacks = kvm_lacks();
    const bool is_native = lacks.empty() && kind_of_kvm() != KvmKind::interpreted;
    return is_native ? "/dev/kvm: it runs level 0 on the processor" : lacks;
}

struct Kind {
    const char* name;
    std::function<std::string()> lacks;
};
const auto& kinds() {
    static const auto all = std::to_array<Kind>({
        {.name = "process", .lacks = process_lacks},
        {.name = "kvm", .lacks = kvm_lacks},
        {.name = "kvm-interpreted", .lacks = interpreted_kvm_lacks},
        {.name = "bare", .lacks = qemu_lacks},
        {.name = "kvm-nested", .lacks = debian_under_qemu_lacks},
        {.name = "xen", .lacks = debian_under_qemu_lacks},
        {.name = "xen-domu", .lacks = debian_under_qemu_lacks},
        {.name = "perf-events", .lacks = perf_events_lack},
        {.name = "ptrace", .lacks = ptrace_lacks},
        {.name = "root", .lacks = root_lacks},
    });
    return all;
}

struct KindWithValue {
    const char* name;
    std::function<std::string(const std::string& value)> lacks;
};
const auto& kinds_with_value() {
    static const auto all = std::to_array<KindWithValue>({
        {.name = "kernel", .lacks = kernel_lacks},
        {.name = "kernels", .lacks = kernels_lack},
        {.name = "program", .lacks = program_lacks},
        {.name = "processors", .lacks = processors_lack},
        {.name = "pypi", .lacks = python_package_lacks},
        {.name = "can", .lacks = shell_lacks},
    });
    return all;
}

} // namespace

std::string what_lacks(const std::string& need) {
    constexpr std::string_view isolate = "-isolate";
    const std::string place = need.ends_with(isolate) ? need.substr(0, need.size() - isolate.size()) : need;
    for (const Kind& kind : kinds()) {
        if (place == kind.name) {
            return kind.lacks();
        }
    }
    const std::size_t colon = need.find(':');
    for (const KindWithValue& kind : kinds_with_value()) {
        if (colon != std::string::npos && need.substr(0, colon) == kind.name) {
            return kind.lacks(need.substr(colon + 1));
        }
    }
    throw std::invalid_argument(need + ": no test can need that");
}

// Linux lists VMX or SVM wherever a processor lets it virtualize; in a virtual machine too.
KvmKind kind_of_kvm() {
    std::ifstream processors("/proc/cpuinfo");
    for (std::string line; std::getline(processors, line);) {
        if (line.starts_with("flags") && ((line + " ").find(" vmx ") != std::string::npos ||
                                          (line + " ").find(" svm ") != std::string::npos)) {
            return KvmKind::hardware;
        }
    }
    return KvmKind::interpreted;
}

} // namespace previrt::machine
