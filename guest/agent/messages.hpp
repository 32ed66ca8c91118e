// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The streams between the agent in the guest and its monitor, and their messages. The agent connects to the
// host's CID at these ports; each takes one connection in the guest's life.
namespace previrt::agent {

enum Port : std::uint32_t {
    control_port = 0x7076'0000,
    input_port,  // standard input of the command, or the keys for its terminal
    output_port, // standard output, or the output of its terminal
    error_port,  // standard error; the monitor refuses it if nothing is behind it
    // Requests of the monitor for further commands. It refuses this one if it has none.
    session_port,
};
// Each further command has four ports, in the order of the first four, from this or a later one on.
constexpr std::uint32_t first_port_of_sessions = 0x7077'0000;
constexpr std::uint32_t ports_of_a_session = 4;

// The agent's place in the guest until it has started, and that of the list of folders to mount, if there are
// any.
constexpr const char* agent_path = "/.previrt-agent";
constexpr const char* folders_path = "/.previrt-folders";

// An entry of that list is one of these, the folder's tag, and the directory to mount it at; each of the two
// texts ends with a zero.
enum class FolderUse : char {
    overlaid_root = 'o', // writes go to an overlay in memory
    root = 'r',
    writable = 'w',
    read_only = 'n',
    no_command = 'i', // the first process is the root's own; the texts are empty
    container = 'c',  // the root of a container, whose process goes there by itself
};
constexpr std::uint32_t most_folders_bytes = 32768;
// Where the agent mounts a container's root, and the control group of its processes.
constexpr const char* container_root = "/.previrt/root";
constexpr const char* container_group = "/sys/fs/cgroup/container";
constexpr const char* container_group_processes = "/sys/fs/cgroup/container/cgroup.procs";

enum class Message : std::uint32_t {
    // To the agent.
    start = 1,
    signal,
    window,
    // To the monitor; the last that it gets.
    exited,
    killed,
    not_started,
    // To the agent, at the session port.
    session,
    // To a session's client: the agent has connected.
    connected,
};

// In front of each message.
struct MessageHeader {
    Message message;
    std::uint32_t bytes; // that follow
};
static_assert(sizeof(MessageHeader) == 8);

struct Window {
    std::uint16_t rows;
    std::uint16_t columns;
    std::uint16_t width; // in pixels
    std::uint16_t height;
};
static_assert(sizeof(Window) == 8);

// What an argument of a system call is.
enum class ArgumentKind : std::uint8_t {
    value,
    data,   // a place in the data of the start message
    loaded, // 32 bits at that place
    result, // of an earlier call, which has this number
};
constexpr unsigned argument_kind_bits = 4;

// A system call that the command's process makes before it becomes its program. An error ends the process,
// unless it is one of `ignored`.
struct SystemCall {
    std::uint32_t number; // of Linux, or one of the two below
    std::uint32_t kinds;  // an ArgumentKind for each argument; the first has the lowest bits
    std::uint16_t ignored[4];
    std::uint64_t arguments[6];
};
static_assert(sizeof(SystemCall) == 64);
// Writes a value: where, the value, its bytes.
constexpr std::uint32_t store_call = 0xffff'0000;
// Sends a message of rtnetlink, and gives the error of its answer: socket, message, bytes.
constexpr std::uint32_t route_call = 0xffff'0001;

// Bit N of `terminals`: the command's descriptor N is its terminal. Behind it: the system calls; their data;
// and, each ended by a zero byte, the working directory, the arguments, the environment.
struct Start {
    std::uint32_t terminals;
    std::uint32_t arguments;
    std::uint32_t variables;
    Window window;
    std::uint32_t namespaces; // flags of clone() for the process; join_namespaces
    std::uint32_t calls;
    std::uint32_t data_bytes;
};
static_assert(sizeof(Start) == 32);
// Instead of its own namespaces, the process gets those of the guest's first command.
constexpr std::uint32_t join_namespaces = 1;
// Of a start message, its header excluded.
constexpr std::uint32_t most_start_bytes = std::uint32_t{4} << 20U;

struct Signal {
    std::uint32_t number;
    std::uint32_t to_group; // 1: to all processes of the command's group
};
static_assert(sizeof(Signal) == 8);

// A further command: the agent connects to four ports, of which this is the first.
struct Session {
    std::uint32_t port;
};
static_assert(sizeof(Session) == 4);

// exited: the exit status. killed: the signal. not_started: an error number of Linux's, of the execve; with
// 65536 times N, of system call N of the start message, which count from 1.
struct End {
    std::uint32_t value;
};
static_assert(sizeof(End) == 4);
constexpr unsigned failed_call_shift = 16;

} // namespace previrt::agent
