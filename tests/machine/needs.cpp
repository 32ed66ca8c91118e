// SPDX-License-Identifier: BSD-2-Clause
// needs NEED ... -- COMMAND ARGUMENT ...
// Runs a test's command where this machine meets its needs (machine.hpp); else says what lacks and ends with
// 77, which skips the test. The command cannot: its 77 becomes a failure. It finds in PREVIRT_KVM_KIND what
// kind of KVM there would be, interpreted or hardware.
#include "tests/machine/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <span>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace previrt::machine;

constexpr int skipped = 77;
constexpr int signalled = 128;

int run(char** command) {
    const pid_t process = fork();
    if (process == 0) {
        execvp(command[0], command);
        std::cerr << "needs: " << command[0] << " does not start\n";
        _exit(1);
    }
    int status = 0;
    if (process < 0 || waitpid(process, &status, 0) != process) {
        std::cerr << "needs: there is no process for the test\n";
        return 1;
    }
    if (WIFSIGNALED(status)) {
        std::cerr << "needs: the test was ended by signal " << WTERMSIG(status) << '\n';
        return signalled + WTERMSIG(status);
    }
    if (WEXITSTATUS(status) == skipped) {
        std::cerr << "needs: the test ended with the status that skips one, which is for its needs to say\n";
        return 1;
    }
    return WEXITSTATUS(status);
}

} // namespace

int main(int count, char** arguments) {
    const std::span all(arguments, static_cast<std::size_t>(count));
    const auto separator = std::ranges::find_if(all, [](const std::string& word) { return word == "--"; });
    if (separator == all.end() || std::next(separator) == all.end()) {
        std::cerr << "usage: needs NEED ... -- COMMAND ARGUMENT ...\n";
        return 2;
    }
    try {
        for (auto need = std::next(all.begin()); need != separator; ++need) {
            if (const std::string lacks = what_lacks(*need); !lacks.empty()) {
                std::cout << "skipped: " << lacks << '\n';
                return skipped;
            }
        }
    } catch (const std::exception& error) {
        std::cerr << "needs: " << error.what() << '\n';
        return 1;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    setenv("PREVIRT_KVM_KIND", kind_of_kvm() == KvmKind::interpreted ? "interpreted" : "hardware", 1);
    return run(&*std::next(separator));
}
