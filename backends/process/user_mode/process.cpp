// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/process.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/common/ring3/vmm_lock.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/frame.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/filter.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace previrt::process {

extern "C" {
extern std::uint32_t pending; // entry.S
// Makes the first user process, with this process's descriptors. It begins with the operations of the state
// at this offset of the file, and has the stub at the other offset.
std::int64_t clone_user_template(std::uint64_t state_offset, std::uint64_t stub_offset);
// Receives the listener's notification. A pending event of these bits, or a new event, interrupts it.
std::int64_t receive_unless_pending(std::uint64_t listener, void* notification, std::uint32_t events);
}

namespace {

// Linux's seccomp_notif and seccomp_notif_resp.
struct Notification {
    std::uint64_t identity;
    std::uint32_t process;
    std::uint32_t flags;
    std::int32_t call;
    std::uint32_t architecture;
    std::uint64_t next;
    std::uint64_t arguments[6];
};
static_assert(sizeof(Notification) == 80);
struct Answer {
    std::uint64_t identity;
    std::int64_t value;
    std::int32_t error;
    std::uint32_t flags;
};
static_assert(sizeof(Answer) == 24);

constexpr std::uint64_t notification_receive = NOTIFICATION_RECEIVE;
constexpr std::uint64_t notification_send = 0xc0182101;
constexpr std::uint64_t notification_set_flags = 0x40082104;
constexpr std::uint32_t flag_continue = 1;
constexpr std::int64_t interrupted = -4;
constexpr std::int64_t is_gone = -2;

struct UserProcess {
    std::uint32_t identity;  // 0: none
    std::uint32_t listener;  // a descriptor
    std::uint64_t stopped;   // the notification that waits for an answer
    bool has_lost_its_stack; // the signal stack, which the last signal has taken away
    bool arms_stack;         // it gets its signal stack back at the exit
    bool needs_frames;       // of earlier signals, which the VMM has yet to read
};
UserProcess user_processes[most_hosts];
// The host gives a process's filter one listener, and children the same one. Each processor has a template,
// so that no notification comes to another processor.
UserProcess user_templates[most_user_listeners];

// Read by other processors, which then have the lock.
[[gnu::section("processor")]] bool program_runs;

std::uint64_t part_offset(unsigned number) {
    return handover.users.offset + page_size + (number * user_part_bytes);
}

std::uint8_t* part(unsigned number) {
    return reinterpret_cast<std::uint8_t*>(arena_address + part_offset(number));
}

UserState& state_in(unsigned number) {
    return *reinterpret_cast<UserState*>(part(number) + calls_bytes);
}

void check_received(std::int64_t result) {
    if (result != 0) {
        stop_guest("the host tells of no user process; error", static_cast<std::uint64_t>(-result));
    }
}

Notification receive(const UserProcess& process) {
    Notification notification{};
    std::int64_t result = interrupted;
    while (result == interrupted || result == is_gone) { // a signal ended the process or its request
        notification = {};
        result = call_host(
            call_ioctl,
            {.first = process.listener, .second = notification_receive, .third = address_of(&notification)});
    }
    check_received(result);
    return notification;
}

bool answer(const UserProcess& process, std::uint64_t identity, std::int32_t error, std::uint32_t flags) {
    const Answer answer{.identity = identity, .value = 0, .error = error, .flags = flags};
    const std::int64_t result = call_host(
        call_ioctl, {.first = process.listener, .second = notification_send, .third = address_of(&answer)});
    if (result != 0 && result != is_gone) {
        stop_guest("the host takes no answer for a user process; error", static_cast<std::uint64_t>(-result));
    }
    return result == 0;
}

bool has_stopped(const Notification& notification) {
    return notification.next == stub_place(user_stub_stopped);
}

// Only this process can be at an address where it could ask.
void check_process(const Notification& notification, const UserProcess& process) {
    if (notification.process != process.identity) {
        stop_guest("a user process acts while it should wait: number", notification.process);
    }
}

void put_operations(UserState& state, std::span<const UserOperation> operations, UserThen then) {
    std::ranges::copy(operations, state.operations);
    state.operation_count = operations.size();
    state.then = then;
}

bool is_operation(const Notification& notification, const UserOperation& operation) {
    const bool has_32_bits = operation.has_32_bits != 0;
    return notification.next == stub_place(has_32_bits ? user_stub_operated_32 : user_stub_operated) &&
           notification.architecture == (has_32_bits ? architecture_32 : architecture_64) &&
           static_cast<std::uint64_t>(notification.call) == operation.call &&
           std::ranges::equal(operation.arguments, notification.arguments);
}

UserStopped stopped_for(UserProcess& process, const Notification& notification) {
    process.stopped = notification.identity;
    UserStopped stopped{.arguments = {}};
    std::ranges::copy(notification.arguments, stopped.arguments);
    if (process.arms_stack && !stopped.is(UserStop::failed)) { // the stack is given back before that
        process.has_lost_its_stack = false;
    }
    process.arms_stack = false;
    process.has_lost_its_stack = process.has_lost_its_stack || stopped.is(UserStop::by_signal);
    return stopped;
}

// Continues it where it stopped; it may arm its stack at the exit to the program. A signal from elsewhere may
// have interrupted it where it stopped: then it has lost the stack, and stops anew.
void go_on(UserProcess& process, UserState& state, bool may_arm_stack) {
    for (;;) {
        process.arms_stack = process.has_lost_its_stack && may_arm_stack;
        state.arms_stack = process.arms_stack ? 1 : 0;
        state.frames_are_read = process.needs_frames ? 0 : 1;
        if (answer(process, process.stopped, 0, 0)) {
            return;
        }
        const Notification notification = receive(process);
        check_process(notification, process);
        process.arms_stack = false; // it has not continued
        stopped_for(process, notification);
    }
}

// The process asks for each operation, and the VMM permits only the requested ones. A signal may come first;
// then the process begins anew. Returns another reason for which it stopped, if one failed.
std::optional<UserStopped> watch_operations(UserProcess& process, UserState& state,
                                            std::span<const UserOperation> operations, bool may_arm_stack) {
    std::size_t done = 0;
    while (done < operations.size()) {
        const Notification notification = receive(process);
        check_process(notification, process);
        if (has_stopped(notification)) {
            const UserStopped stopped = stopped_for(process, notification);
            if (stopped.is(UserStop::failed) &&
                stopped.arguments[1] != static_cast<std::uint64_t>(interrupted)) {
                return stopped;
            }
            done = 0;
            go_on(process, state, may_arm_stack);
        } else if (is_operation(notification, operations[done])) {
            done += answer(process, notification.identity, 0, flag_continue) ? 1 : 0;
        } else {
            answer(process, notification.identity, static_cast<std::int32_t>(interrupted), 0);
        }
    }
    return std::nullopt;
}

void must_be_done(const UserStopped& stopped) {
    if (!stopped.is(UserStop::done)) {
        stop_guest("a user process cannot be made; error", 0 - stopped.arguments[1]);
    }
}

void do_operations(UserProcess& process, UserState& state, std::span<const UserOperation> operations) {
    constexpr bool may_arm_stack = false; // it stops before the exit
    put_operations(state, operations, then_stop);
    process.needs_frames = false;
    go_on(process, state, may_arm_stack);
    for (;;) {
        if (const std::optional<UserStopped> failed =
                watch_operations(process, state, operations, may_arm_stack)) {
            must_be_done(*failed);
        }
        const Notification notification = receive(process);
        check_process(notification, process);
        const UserStopped stopped = stopped_for(process, notification);
        if (!stopped.is(UserStop::by_signal)) {
            must_be_done(stopped);
            return;
        }
        go_on(process, state, may_arm_stack); // a signal from elsewhere: it begins anew
    }
}

// ---- the template

// In this process, when it begins. The host gives a listener this number.
constexpr std::uint64_t first_free_descriptor = 0;
constexpr std::uint64_t limit_of_descriptors = 7; // RLIMIT_NOFILE

struct Action {
    std::uint64_t handler;
    std::uint64_t flags;
    std::uint64_t restorer;
    std::uint64_t mask;
};

// The data for the template's start, in memory that it shares.
struct TemplateStart {
    Action handled;
    struct {
        std::uint64_t count;
        std::uint64_t instructions;
    } filter;
    FilterInstruction instructions[192];
    std::uint64_t most_descriptors[2]; // now, and for ever
};

constexpr std::uint64_t template_start_offset = exit_vectors_offset;
static_assert(sizeof(TemplateStart) <= vector_bytes);

void fill_template_start(TemplateStart& start) {
    constexpr std::uint64_t with_information = 4;
    constexpr std::uint64_t has_restorer = 0x04000000;
    constexpr std::uint64_t on_own_stack = 0x08000000;
    constexpr std::uint64_t not_deferred = 0x40000000;
    // The handler never returns: it leaves by a jump.
    start.handled = {.handler = stub_place(user_stub_signal),
                     .flags = with_information | has_restorer | on_own_stack | not_deferred,
                     .restorer = stub_place(user_stub_signal),
                     .mask = 0};
    start.filter = {.count = make_user_filter(start.instructions).size(),
                    .instructions =
                        user_state_address + template_start_offset + offsetof(TemplateStart, instructions)};
    std::ranges::fill(start.most_descriptors, first_free_descriptor + 1);
}

constexpr std::uint8_t user_signals[] = {signal_illegal, signal_trap,        signal_bus, signal_arithmetic,
                                         signal_segment, signal_system_call, user_signal};

// A later template finds in the same memory what the earlier one left.
void put_template_operations(UserState& state) {
    constexpr std::uint64_t start = user_state_address + template_start_offset;
    constexpr std::uint64_t set_filter = 1;
    constexpr std::uint64_t new_listener = 8;
    constexpr std::uint64_t first_address = 0x10000;
    UserOperation operations[most_user_operations] = {};
    unsigned count = 0;
    operations[count++] = {.call = call_munmap,
                           .arguments = {first_address, user_stub_address - first_address},
                           .has_32_bits = 0};
    operations[count++] = {.call = call_munmap, .arguments = {calls_address, calls_bytes}, .has_32_bits = 0};
    operations[count++] = {
        .call = call_munmap, .arguments = {user_own_end, host_end - user_own_end}, .has_32_bits = 0};
    for (const std::uint8_t signal : user_signals) {
        operations[count++] = {
            .call = call_rt_sigaction,
            .arguments = {signal, start + offsetof(TemplateStart, handled), 0, sizeof(std::uint64_t)},
            .has_32_bits = 0};
    }
    operations[count++] = {
        .call = call_sigaltstack, .arguments = {stub_place(user_stub_signal_stack)}, .has_32_bits = 0};
    operations[count++] = {
        .call = call_setrlimit,
        .arguments = {limit_of_descriptors, start + offsetof(TemplateStart, most_descriptors)},
        .has_32_bits = 0};
    operations[count++] = {.call = call_seccomp,
                           .arguments = {set_filter, new_listener, start + offsetof(TemplateStart, filter)},
                           .has_32_bits = 0};
    put_operations(state, {operations, count}, then_announce);
    state.started = 0;
}

void await_template(UserState& state) {
    while (__atomic_load_n(&state.started, __ATOMIC_SEQ_CST) == 0) {
        call_host(call_futex, {.first = address_of(&state.started)});
    }
}

// The template had this process's descriptors, so that the VMM gets its listener. From here on it has the
// memory alone.
void take_descriptors_away(UserProcess& user_template, UserState& state) {
    constexpr std::uint64_t unshare = 2;
    constexpr std::uint64_t last = 0xffffffff;
    const UserOperation operations[] = {
        {.call = call_close_range, .arguments = {memory_descriptor + 1, last, unshare}, .has_32_bits = 0},
        {.call = call_close_range, .arguments = {0, memory_descriptor - 1, unshare}, .has_32_bits = 0},
    };
    do_operations(user_template, state, operations);
}

void move_listener(std::uint32_t to) {
    call_host(call_dup2, {.first = first_free_descriptor, .second = to});
    call_host(call_close, {.first = first_free_descriptor});
}

// All templates have the same state: the VMM runs one at a time, and waits until it has stopped.
void make_template(UserProcess& made, std::uint32_t listener) {
    UserState& state = state_in(0);
    put_template_operations(state);
    const std::int64_t identity = clone_user_template(part_offset(0) + calls_bytes, handover.users.offset);
    if (identity < 0) {
        stop_guest("the host gives no user process");
    }
    made.identity = static_cast<std::uint32_t>(identity);
    made.listener = listener;
    await_template(state);
    move_listener(listener);
    const Notification notification = receive(made);
    check_process(notification, made);
    must_be_done(stopped_for(made, notification));
    constexpr std::uint64_t wakes_here = 1; // on the same processor; since Linux 6.6, without it slower
    call_host(call_ioctl, {.first = listener, .second = notification_set_flags, .third = wakes_here});
    take_descriptors_away(made, state);
}

// The monitor's limit has room for the listeners.
void forbid_descriptors() {
    const std::uint64_t none[] = {0, 0};
    if (call_host(call_setrlimit, {.first = limit_of_descriptors, .second = address_of(none)}) != 0) {
        stop_guest("the host sets no limit");
    }
}

UserOperation mapping_of(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection,
                         std::uint64_t offset) {
    return {.call = call_mmap,
            .arguments = {address, bytes, protection, map_shared | map_fixed, memory_descriptor, offset},
            .has_32_bits = 0};
}

// Until the process stops. Events call it.
Notification receive_unless_called(const UserProcess& process, std::uint32_t events, bool& is_called) {
    for (;;) {
        Notification notification{};
        const std::int64_t result = receive_unless_pending(process.listener, &notification, events);
        if (result == interrupted && (__atomic_load_n(&pending, __ATOMIC_SEQ_CST) & events) != 0) {
            call_host(call_kill, {.first = process.identity, .second = user_signal});
            is_called = true;
            return receive(process);
        }
        // A signal has ended an earlier request, and the host still counted that one's wake-up; or a signal
        // came that is no event.
        if (result != is_gone && result != interrupted) {
            check_received(result);
            return notification;
        }
    }
}

// Other processors execute the VMM meanwhile. One of them may gather this one, also while the guest has
// interrupts disabled.
Notification await_program(const UserProcess& process, UserRun how, bool& is_called) {
    constexpr std::uint32_t all_events = ~std::uint32_t{0};
    const bool is_alone = handover.processors == 1;
    return is_called || how.stops_at_once || (how.events_may_wait && is_alone)
               ? receive(process)
               : receive_unless_called(process, how.events_may_wait ? event_pending : all_events, is_called);
}

} // namespace

bool isolates() {
    return handover.isolates_user_mode != 0;
}

std::uint8_t* user_part(unsigned host) {
    return part(host + 1);
}

UserState& user_state(unsigned host) {
    return state_in(host + 1);
}

void start_user_processes() {
    if (!isolates()) {
        return;
    }
    std::memcpy(part_of_vmm(handover.users), user_stub, static_cast<std::size_t>(user_stub_end - user_stub));
    fill_template_start(*reinterpret_cast<TemplateStart*>(part(0) + calls_bytes + template_start_offset));
    for (std::uint32_t processor = 0; processor < handover.processors; ++processor) {
        make_template(user_templates[processor], std::uint32_t{first_user_listener} + processor);
    }
    forbid_descriptors();
}

bool have_user_process(unsigned host) {
    UserProcess& made = user_processes[host];
    if (made.identity != 0) {
        return true;
    }
    UserProcess& user_template = user_templates[vcpu.number];
    UserState& templates = state_in(0);
    const UserOperation clone[] = {{.call = call_clone, .arguments = {clone_beside_us}, .has_32_bits = 0}};
    put_operations(templates, clone, then_stop);
    go_on(user_template, templates, false);
    if (watch_operations(user_template, templates, clone, false)) {
        return false;
    }
    // Both stop, in any order.
    std::uint64_t told = 0;
    while (made.identity == 0 || told == 0) {
        const Notification notification = receive(user_template);
        if (notification.process != user_template.identity) {
            made = {.identity = notification.process,
                    .listener = user_template.listener,
                    .stopped = notification.identity,
                    .has_lost_its_stack = user_template.has_lost_its_stack,
                    .arms_stack = false,
                    .needs_frames = false};
            continue;
        }
        const UserStopped stopped = stopped_for(user_template, notification);
        if (!stopped.is(UserStop::done)) {
            return false;
        }
        told = stopped.arguments[1];
    }
    if (told != made.identity) {
        stop_guest("a user process acts while it should wait: number", made.identity);
    }
    // It continues with the operations of its own state as soon as that is mapped: they are the same.
    const UserOperation mappings[] = {
        mapping_of(user_state_address, user_state_bytes, may_read | may_write,
                   part_offset(host + 1) + calls_bytes),
        mapping_of(calls_address, calls_bytes, may_read | may_execute, part_offset(host + 1)),
        // Two calls that Linux lets pass any filter (uprobe and uretprobe).
        {.call = call_prctl,
         .arguments = {set_user_dispatch, dispatch_on, user_stub_address, page_size},
         .has_32_bits = 0},
    };
    put_operations(templates, mappings, then_stop);
    do_operations(made, user_state(host), mappings);
    return true;
}

void do_user_operations(unsigned host, std::span<const UserOperation> operations) {
    do_operations(user_processes[host], user_state(host), operations);
}

namespace {

UserStopped run_program(UserProcess& process, UserState& state, std::span<const UserOperation> operations,
                        UserRun how) {
    process.needs_frames = how.needs_frames;
    go_on(process, state, !how.needs_frames);
    if (const std::optional<UserStopped> failed =
            watch_operations(process, state, operations, !how.needs_frames)) {
        return *failed;
    }
    bool is_called = false;
    for (;;) {
        const Notification notification = await_program(process, how, is_called);
        check_process(notification, process);
        if (!has_stopped(notification)) { // it is at an address from which it does not continue as requested
            answer(process, notification.identity, static_cast<std::int32_t>(interrupted), 0);
            continue;
        }
        UserStopped stopped = stopped_for(process, notification);
        const bool is_the_call = stopped.is(UserStop::by_signal) && stopped.arguments[1] == user_signal;
        if (!is_called || is_the_call) {
            // The operations before the last one were seen to succeed: the program lies.
            if (stopped.is(UserStop::failed) && stopped.arguments[2] + 1 < operations.size()) {
                stopped.arguments[0] = 0;
            }
            return stopped;
        }
        // It stopped by itself before the signal came; the signal comes first now.
        answer(process, notification.identity, static_cast<std::int32_t>(interrupted), 0);
    }
}

} // namespace

UserStopped run_user_process(unsigned host, std::span<const UserOperation> operations, UserRun how) {
    UserState& state = user_state(host);
    put_operations(state, operations, then_go_on);
    program_runs = true;
    leave_vmm();
    const UserStopped stopped = run_program(user_processes[host], state, operations, how);
    enter_vmm();
    program_runs = false;
    return stopped;
}

bool runs_user_process(unsigned processor) {
    return of_processor(processor, program_runs);
}

} // namespace previrt::process
