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

int open_file(const std::string& path, int flags) {
    constexpr mode_t mode = 0666;
    const int file = open(path.c_str(), flags, mode);
    if (file < 0) {
        throw InputError(path + ": " + std::generic_category().message(errno));
    }
    return file;
}

constexpr int to_write = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY;

void put(const std::string& path, int flags, int number) {
    const int file = open_file(path, flags | O_CLOEXEC);
    if (dup2(file, number) < 0) {
        throw InputError(path + ": " + std::generic_category().message(errno));
    }
}

int duplicate(int number) {
    const int made = dup(number);
    if (made < 0) {
        throw InputError("standard input and output: " + std::generic_category().message(errno));
    }
    return made;
}

// The descriptors stay open for previrt.
std::string open_port(const QemuPort& port) {
    const bool is_standard = port.file.empty();
    const std::string input = is_standard ? std::to_string(duplicate(STDIN_FILENO)) : "";
    const int output = is_standard ? duplicate(STDOUT_FILENO) : open_file(port.file, to_write);
    return "--port=" + input + ":" + std::to_string(output) + (port.name.empty() ? "" : ":" + port.name);
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
    QemuCommand command = translate_qemu_options(words);
    if (!command.answer.empty()) {
        std::cout << command.answer;
        return 0;
    }
    for (const QemuPort& port : command.ports) {
        command.run.push_back(open_port(port));
    }
    if (!command.console.empty()) {
        put("/dev/null", O_RDONLY, STDIN_FILENO);
        put(command.console, to_write, STDOUT_FILENO);
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
