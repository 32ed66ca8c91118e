// SPDX-License-Identifier: BSD-2-Clause
// The first process of a guest: it runs one command of the monitor's, and then ends the guest. In a root
// without a command it becomes the root's own first process. Beside either it runs further commands.
#include "guest/agent/command_run.hpp"
#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"
#include "guest/agent/monitor_link.hpp"
#include "guest/agent/root.hpp"
#include "guest/agent/sessions.hpp"
#include "guest/agent/streams.hpp"

namespace previrt::agent {

namespace {

// `stack`: as Linux starts a program: the number of arguments, the arguments, a zero, the environment.
[[noreturn]] void run(char** stack) {
    const char* message = enter_root();
    if (message == nullptr && is_without_command()) {
        message = mount_folders();
        if (message == nullptr) {
            serve_sessions_beside_init();
            const auto arguments = reinterpret_cast<std::size_t>(stack[0]);
            become_init(stack + 1, stack + 1 + arguments + 1);
            message =
                "previrt: the root has no program that can be its first process (/sbin/init, or init= of "
                "the kernel's command line)\n";
        }
    }
    if (message == nullptr) {
        prepare_root();
        message = mount_folders();
    }
    if (message != nullptr) {
        give_up(message);
    }
    hold_child_signal();
    const Streams streams = connect_streams(control_port);
    if (streams.control < 0) {
        give_up("previrt: this kernel has no way to its monitor: it needs CONFIG_VIRTIO_VSOCKETS=y\n");
    }
    run_command(streams, input_port);
    leave();
}

} // namespace

} // namespace previrt::agent

extern "C" [[noreturn]] void agent_started(char** stack) {
    previrt::agent::run(stack);
}

asm(".globl _start\n"
    "_start: xorl %ebp, %ebp\n"
    "movq %rsp, %rdi\n"
    "andq $-16, %rsp\n"
    "call agent_started\n");

// The compiler's own calls.
extern "C" void* memcpy(void* to, const void* from, std::size_t bytes) {
    void* place = to;
    asm volatile("rep movsb" : "+D"(place), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}
extern "C" void* memset(void* to, int value, std::size_t bytes) {
    void* place = to;
    asm volatile("rep stosb" : "+D"(place), "+c"(bytes) : "a"(value) : "memory");
    return to;
}
