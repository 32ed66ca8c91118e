// SPDX-License-Identifier: BSD-2-Clause
// qemu-system-previrt: `previrt run` by QEMU's options, for the programs that test kernels in QEMU.
#include "cli/qemu_options.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/options.hpp"

#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

void put(const std::string& path, int flags, int number) {
    constexpr mode_t mode = 0666;
    const int file = open(path.c_str(), flags | O_CLOEXEC, mode);
    if (file < 0 || dup2(file, number) < 0) {
        throw InputError(path + ": " + std::generic_category().message(errno));
    }
}

// Returns only if previrt is missing.
void become_previrt(const std::vector<std::string>& words) {
    const std::string program = program_beside_this("previrt");
    std::vector<std::string> arguments = {program};
    arguments.insert(arguments.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    execv(program.c_str(), pointers.data());
    throw InputError(program + ": " + std::generic_category().message(errno));
}

int run(const std::vector<std::string>& words) {
    const QemuCommand command = translate_qemu_options(words);
    if (!command.answer.empty()) {
        std::cout << command.answer;
        return 0;
    }
    if (!command.console.empty()) {
        put("/dev/null", O_RDONLY, STDIN_FILENO);
        put(command.console, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    }
    become_previrt(command.run);
    return run_refused;
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    try {
        return previrt::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "qemu-system-previrt: " << error.what() << '\n';
        return previrt::run_refused;
    }
}
