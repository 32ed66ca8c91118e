// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/rights.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace previrt {

// Another program of this machine, found by PATH. Arguments are passed unchanged, without a shell.
struct Program {
    std::vector<std::string> arguments;                           // the first is the program's name
    std::string directory;                                        // to run in; empty: the current one
    std::vector<std::pair<std::string, std::string>> environment; // in addition to this program's
    // With fewer rights than this program's, it also gets no terminal, and no descriptor but those given.
    Rights rights = Rights::ours;
    // Descriptors that it gets, under the same numbers.
    std::vector<int> inherited = {}; // NOLINT(readability-redundant-member-init): may be left out
    // It gets nothing of this program's environment.
    bool has_own_environment = false;
};

// The descriptors that become 0, 1 and 2 of the program.
struct ProgramDescriptors {
    int input = 0;
    int output = 1;
    int error = 2;
};

// Exit statuses are the program's, or 128 + the signal that ended it.
// Each function throws InputError if the program cannot be started: the message names the Debian package if
// it is known.
pid_t start_program(const Program& program, const ProgramDescriptors& descriptors);
int wait_for_program(pid_t process);

// Where a program is, by PATH; empty if it is missing.
std::string path_of_program(const std::string& name);
// Throws InputError with the name and Debian's package of every program that is missing.
void require_programs(const std::vector<std::string>& names);

int run_program(const Program& program);
// Gives standard output and error together, line by line.
int run_program(const Program& program, const std::function<void(std::string_view line)>& line);
// The first 64 KiB of standard output; standard error is shown.
struct ProgramOutput {
    int status;
    std::string text;
};
ProgramOutput read_program(const Program& program);

// An owned descriptor.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] int number() const { return number_; }
    void close();

private:
    int number_;
};

struct Pipe {
    Descriptor read;
    Descriptor write;
};
Pipe make_pipe();

} // namespace previrt
