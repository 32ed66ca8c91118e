// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/command.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/namespaces.hpp"
#include "guest/agent/system_calls.hpp"

#include <asm-generic/errno.h>
#include <asm-generic/ioctls.h>
#include <asm-generic/signal-defs.h>
#include <asm/signal.h>
#include <initializer_list>
#include <linux/fcntl.h>

namespace previrt::agent {

namespace {

constexpr long current_directory = -100; // AT_FDCWD

struct Ends {
    int read = -1;
    int write = -1;
};

Ends make_pipe() {
    Ends ends;
    int numbers[2] = {-1, -1};
    if (call(__NR_pipe2, address_of(numbers), O_CLOEXEC) == 0) {
        ends = {.read = numbers[0], .write = numbers[1]};
    }
    return ends;
}

// The other end is the command's, whose mode stays.
int without_blocking(int descriptor) {
    call(__NR_fcntl, descriptor, F_SETFL, O_NONBLOCK);
    return descriptor;
}

int copy_of(int descriptor) {
    return static_cast<int>(call(__NR_fcntl, descriptor, F_DUPFD_CLOEXEC, 0));
}

struct Terminal {
    int master = -1;
    int own = -1; // the command's
};

long open_master(const char* path) {
    return call(__NR_openat, current_directory, address_of(path), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

// A root's own first process may not have mounted the file system of terminals. master: negative, an error.
Terminal make_terminal(const Window& window) {
    Terminal made;
    made.master = static_cast<int>(open_master("/dev/ptmx"));
    if (made.master < 0) {
        constexpr long mode = 0755;
        call(__NR_mkdir, address_of("/dev/pts"), mode);
        call(__NR_mount, address_of("none"), address_of("/dev/pts"), address_of("devpts"), 0,
             address_of("ptmxmode=666"));
        made.master = static_cast<int>(open_master("/dev/pts/ptmx"));
    }
    int locked = 0;
    call(__NR_ioctl, made.master, TIOCSPTLCK, address_of(&locked));
    made.own = static_cast<int>(call(__NR_ioctl, made.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    call(__NR_ioctl, made.master, TIOCSWINSZ, address_of(&window));
    return made;
}

bool begins_with(const char* text, const char* name) {
    while (*name != '\0' && *text == *name) {
        ++text;
        ++name;
    }
    return *name == '\0';
}

const char* search_path(char** environment) {
    for (char** variable = environment; *variable != nullptr; ++variable) {
        if (begins_with(*variable, "PATH=")) {
            return *variable + length_of("PATH=");
        }
    }
    return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

bool has_slash(const char* text) {
    while (*text != '\0' && *text != '/') {
        ++text;
    }
    return *text == '/';
}

// The child's work. It gives its parent the error number of a failure.
class Child {
public:
    explicit Child(const Request& request) : request_(request) {}

    // Only if it fails.
    int become() {
        if (has_slash(request_.arguments[0])) {
            try_file(request_.arguments[0]);
            return error_;
        }
        if (*request_.arguments[0] == '\0') {
            return ENOENT;
        }
        const char* part = search_path(request_.environment);
        for (;;) {
            const char* end = part;
            while (*end != '\0' && *end != ':') {
                ++end;
            }
            try_in(part, static_cast<std::size_t>(end - part));
            if (*end == '\0') {
                return is_forbidden_ ? EACCES : error_;
            }
            part = end + 1;
        }
    }

private:
    void try_in(const char* directory, std::size_t length) {
        char path[4096];
        const char* const name = request_.arguments[0];
        const std::size_t name_length = length_of(name);
        if (length + name_length + 2 > sizeof path) {
            error_ = ENAMETOOLONG;
            return;
        }
        std::size_t at = 0;
        for (std::size_t i = 0; i < length; ++i) {
            path[at++] = directory[i];
        }
        if (length != 0) {
            path[at++] = '/';
        }
        for (std::size_t i = 0; i <= name_length; ++i) {
            path[at++] = name[i];
        }
        try_file(path);
    }

    // A script without a first line that names its interpreter is the shell's, as in every C library.
    void try_file(const char* path) {
        error_ = execute(path, request_.arguments);
        is_forbidden_ = is_forbidden_ || error_ == EACCES;
        if (error_ == ENOEXEC) {
            char shell[] = "/bin/sh";
            char** const arguments = request_.arguments - 1; // there is a place in front
            arguments[0] = shell;
            char* const name = arguments[1];
            arguments[1] = const_cast<char*>(path);
            (void)execute(shell, arguments);
            arguments[1] = name;
        }
    }
    [[nodiscard]] int execute(const char* path, char** arguments) const {
        return static_cast<int>(-call(__NR_execve, address_of(path),
                                      address_of(static_cast<const void*>(arguments)),
                                      address_of(static_cast<const void*>(request_.environment))));
    }

    const Request& request_;
    int error_ = ENOENT;
    bool is_forbidden_ = false;
};

[[noreturn]] void become(const Request& request, const int (&descriptors)[3], int terminal, int report) {
    call(__NR_setsid);
    if (terminal >= 0) {
        call(__NR_ioctl, terminal, TIOCSCTTY, 0);
    }
    for (int number = 0; number < 3; ++number) {
        call(__NR_dup3, descriptors[number], number, 0);
    }
    const std::uint64_t no_signals = 0;
    call(__NR_rt_sigprocmask, SIG_SETMASK, address_of(&no_signals), 0, sizeof no_signals);
    int error = make_calls(request);
    if (error == 0) {
        // An empty one: a call has chosen it.
        if (*request.directory != '\0' && call(__NR_chdir, address_of(request.directory)) != 0) {
            call(__NR_chdir, address_of("/"));
        }
        error = Child(request).become();
    }
    call(__NR_write, report, address_of(&error), sizeof error);
    for (;;) {
        call(__NR_exit_group, 127);
    }
}

} // namespace

Command start_command(const Request& request) {
    Command command;
    int descriptors[3] = {-1, -1, -1};
    Terminal terminal;
    command.error = enter_namespaces(request.start.namespaces);
    if (command.error != 0) {
        return command;
    }
    if (request.start.terminals != 0) {
        terminal = make_terminal(request.start.window);
        if (terminal.own < 0) {
            command.error = ENOTTY;
            return command;
        }
        command.terminal = without_blocking(terminal.master);
        command.terminal_input = copy_of(command.terminal);
        command.terminal_output = copy_of(command.terminal);
    }
    Ends pipes[3];
    for (unsigned number = 0; number < 3; ++number) {
        if ((request.start.terminals >> number & 1U) != 0) {
            descriptors[number] = terminal.own;
            continue;
        }
        pipes[number] = make_pipe();
        descriptors[number] = number == 0 ? pipes[number].read : pipes[number].write;
    }
    const Ends report = make_pipe();
    const long process = fork_into_namespaces(request.start.namespaces);
    if (process == 0) {
        become(request, descriptors, terminal.own, report.write);
    }
    for (const int descriptor : {pipes[0].read, pipes[1].write, pipes[2].write, terminal.own, report.write}) {
        call(__NR_close, descriptor);
    }
    command.process = static_cast<int>(process);
    command.error = process < 0 ? static_cast<int>(-process) : 0;
    if (process > 0) {
        call(__NR_read, report.read, address_of(&command.error), sizeof command.error);
    }
    call(__NR_close, report.read);
    command.input = without_blocking(pipes[0].write);
    command.output = without_blocking(pipes[1].read);
    command.errors = without_blocking(pipes[2].read);
    return command;
}

} // namespace previrt::agent
