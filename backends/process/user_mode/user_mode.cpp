// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/user_mode.hpp"

#include "backends/common/ring3/segment_bases.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/entries.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/segments.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/thread_segments.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "backends/process/user_mode/process.hpp"
#include "backends/process/user_mode/vectors.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace previrt::process {

namespace {

constexpr std::uint8_t data_segments[] = {segment_es, segment_ds, segment_fs, segment_gs};

unsigned current_number() {
    return number_of(current_host());
}

std::span<std::uint8_t> vectors_at(std::uint64_t offset) {
    return {user_part(current_number()) + calls_bytes + offset, vector_bytes};
}

UserExitFrame& exit_frame() {
    return *reinterpret_cast<UserExitFrame*>(user_part(current_number()) + calls_bytes + exit_frame_offset);
}

// ---- exit to the program

// Loads selectors that differ from those with which the program came.
void put_segments(UserState& state) {
    state.exit_segments.fs_base = processor::read_fs_base();
    state.exit_segments.gs_base = vcpu.user_gs_base;
    state.loads_segments = 0;
    for (unsigned i = 0; i < std::size(data_segments); ++i) {
        state.exit_segments.selectors[i] = read_segment(data_segments[i]);
        if (state.exit_segments.selectors[i] != state.segments.selectors[i]) {
            state.loads_segments = 1;
        }
    }
}

void put_registers(UserState& state) {
    std::ranges::copy(vcpu.registers.general, state.exit_general);
    exit_frame() = {.rip = address_executed(vcpu.registers.rip),
                    .cs = vcpu.cs,
                    .rflags = (guest_flags() & ~std::uint64_t{flag_iopl}) | flag_interrupt,
                    .rsp = vcpu.registers.general[rsp],
                    .ss = vcpu.ss};
    put_segments(state);
    save_user_vectors(vectors_at(exit_vectors_offset));
}

// ---- entry from the program

void take_segments(const UserSegments& segments) {
    for (unsigned i = 0; i < std::size(data_segments); ++i) {
        const std::uint16_t selector = selector_to_load(segments.selectors[i]);
        if (read_segment(data_segments[i]) != selector) {
            const std::uint64_t base = processor::read_gs_base(); // the kernel's
            write_segment(data_segments[i], selector);
            write_active_gs_base(base);
        }
    }
    backend::write_fs_base(is_canonical(segments.fs_base) ? segments.fs_base : 0);
    vcpu.user_gs_base = is_canonical(segments.gs_base) ? segments.gs_base : 0;
}

// An address that the user process gave, if it lies in its own state; else nullptr.
const std::uint8_t* in_state(std::uint64_t address, std::size_t bytes, std::size_t alignment) {
    const std::uint64_t offset = address - user_state_address;
    if (offset > user_state_bytes - bytes || offset % alignment != 0) {
        return nullptr;
    }
    return user_part(current_number()) + calls_bytes + offset;
}

struct UserSignal {
    SignalInformation information;
    Frame frame;
    std::span<const std::uint8_t> vectors;
};

// Selectors that no program can have could look like the kernel to the guest's kernel.
bool is_user_modes(const Frame& frame) {
    constexpr std::uint16_t local_at_level_3 = 7; // in a selector
    const auto is_local = [](std::uint16_t selector) {
        return (selector & local_at_level_3) == local_at_level_3;
    };
    const auto is_threads = [](std::uint16_t selector) {
        return is_thread_selector(selector) && (selector & 3U) == 3;
    };
    return (frame.cs == selector_user_code || frame.cs == selector_user_code_32 || is_local(frame.cs)) &&
           (frame.ss == selector_user_data || is_local(frame.ss) || is_threads(frame.ss)) &&
           is_canonical(frame.rip);
}

// Believes only a possible frame: the program may have made it itself.
std::optional<UserSignal> read_signal(const UserStopped& stopped) {
    UserSignal signal{};
    const std::uint8_t* const information =
        in_state(stopped.arguments[2], sizeof(signal.information), alignof(SignalInformation));
    const std::uint8_t* const frame = in_state(stopped.arguments[3], sizeof(signal.frame), alignof(Frame));
    if (information == nullptr || frame == nullptr) {
        return std::nullopt;
    }
    std::memcpy(&signal.information, information, sizeof(signal.information));
    std::memcpy(&signal.frame, frame, sizeof(signal.frame));
    constexpr std::size_t vector_alignment = 64;
    const std::uint8_t* const vectors =
        in_state(signal.frame.vector_registers, extended_bytes, vector_alignment);
    if (vectors == nullptr) {
        return std::nullopt;
    }
    const std::uint64_t left = user_own_end - signal.frame.vector_registers;
    signal.vectors = {vectors, left};
    return is_user_modes(signal.frame) ? std::optional(signal) : std::nullopt;
}

enum class Where : std::uint8_t { program, coming, going };

// An interrupted call stops again.
bool is_stopping(const Frame& frame) {
    const std::uint64_t rip = frame.rip;
    const bool stops_again = rip < stub_place(user_stub_leave) && frame.rax != 0;
    return rip >= stub_place(user_stub_stop) && (rip < stub_place(user_stub_stopped) || stops_again);
}

// A program that is coming has all that it needs in its registers, or has saved it. Behind a failed operation
// the process has come long ago: its registers are not the program's any more, the VMM has those.
Where where(const Frame& frame) {
    const std::uint64_t rip = frame.rip;
    if (rip < user_stub_address || rip >= stub_place(user_stub_left)) {
        return Where::program;
    }
    if (is_stopping(frame)) {
        return frame.rdi == static_cast<std::uint64_t>(UserStop::failed) ? Where::going : Where::coming;
    }
    return rip < stub_place(user_stub_stop) ? Where::coming : Where::going;
}

// Of a process that is going. An event can stop it between its last operation and its stop for that one's
// failure.
bool has_failed_operation(const Frame& frame) {
    constexpr std::uint64_t first_error = ~std::uint64_t{4094};
    return is_stopping(frame) ||
           (frame.rip < stub_place(user_stub_operations_done) && frame.rax >= first_error);
}

// Nothing that the process says is believed, not even that its last operation is done.
void refuse() {
    outdate_user(current_host());
    refuse_user_return();
}

// The program is entering the stub: it enters once more, as if nothing had happened. The processor keeps the
// vector registers with which the program left: it may not have them yet.
void put_back(UserState& state, const UserSignal& signal) {
    const Frame& frame = signal.frame;
    std::uint64_t* const general = state.exit_general;
    general[rax] = frame.rax;
    general[rcx] = frame.rcx;
    general[rdx] = frame.rdx;
    general[rbx] = frame.rbx;
    general[rsp] = frame.rsp;
    general[rbp] = frame.rbp;
    general[rsi] = frame.rsi;
    general[rdi] = frame.rdi;
    std::ranges::copy(frame.r8_to_r15, general + r8);
    exit_frame() = {.rip = frame.rip,
                    .cs = selector_user_code,
                    .rflags = (frame.rflags & (native_flags | native_user_flags)) | flag_reserved_one |
                              flag_interrupt,
                    .rsp = frame.rsp,
                    .ss = selector_user_data};
    state.exit_segments.fs_base = is_canonical(state.segments.fs_base) ? state.segments.fs_base : 0;
    state.exit_segments.gs_base = is_canonical(state.segments.gs_base) ? state.segments.gs_base : 0;
    state.loads_segments = 0;
    copy_user_vectors(signal.vectors, vectors_at(exit_vectors_offset));
}

// On either stack that the stub has there: the signal stack has an earlier signal's frame then.
bool is_in_signal_handler(const Frame& frame) {
    return frame.rsp - USER_EXIT_STACK <= USER_SIGNAL_STACK_TOP - USER_EXIT_STACK;
}

void take_call(const UserState& state) {
    std::uint64_t general[16];
    std::ranges::copy(state.general, general);
    if (!is_canonical(state.rip)) {
        refuse_user_return();
        return;
    }
    take_segments(state.segments);
    load_user_vectors(vectors_at(entry_vectors_offset));
    take_user_call(general, state.rip);
}

void take_signal(const UserState& state, std::uint64_t number, const UserSignal& signal) {
    const bool is_event = number == user_signal;
    if (where(signal.frame) == Where::program) {
        take_segments(state.segments);
        load_user_vectors(signal.vectors);
        take_user_signal(is_event ? event_signal : number, signal.information, signal.frame);
    } else if (is_event) {
        if (has_failed_operation(signal.frame)) {
            outdate_user(current_host());
        }
        take_user_event();
    } else {
        refuse();
    }
}

struct Run {
    UserStopped stopped;
    bool begins_anew; // the program has not continued, and other processors may have changed its mappings
};

// A protection change of an unmapped range fails: the range is to have no mapping then.
Run run(UserRun how) {
    std::span<UserOperation> operations = take_user_operations(current_number());
    for (;;) {
        const UserStopped stopped = run_user_process(current_number(), operations, how);
        const std::uint64_t failed = stopped.arguments[2];
        if (!stopped.is(UserStop::failed) || failed >= operations.size() ||
            operations[failed].call != call_mprotect) {
            return {.stopped = stopped, .begins_anew = false};
        }
        operations = operations.subspan(failed);
        if (backend::processor_count() != 1) {
            note_user_protection(current_number(), operations[0].arguments[0], operations[0].arguments[1], 0);
            give_back_user_operations(current_number(), operations.subspan(1));
            return {.stopped = stopped, .begins_anew = true};
        }
        operations[0].call = call_munmap;
        operations[0].arguments[2] = 0;
    }
}

// Where it was put back, it stops at once. It does not follow what other processors have changed meanwhile:
// the program may have come by a fault in a stub of a site, and that stub has to be known still. So on this
// way it must not be able to write to memory of its own.
UserStopped run_to_stop(bool needs_frames) {
    return run_user_process(current_number(), {},
                            {.events_may_wait = true, .stops_at_once = true, .needs_frames = needs_frames});
}

bool is_coming_in(const Frame& frame) {
    return where(frame) == Where::coming &&
           (frame.rip != stub_place(user_stub_pushes) || frame.rsp == USER_ENTRY_STACK_TOP);
}

} // namespace

void run_user_mode() {
    if (!have_user_process(current_number())) {
        stop_guest("the host gives no further process for user mode");
    }
    follow_user_local_table();
    follow_user_thread_segments();
    UserState& state = user_state(current_number());
    put_registers(state);
    const bool events_may_wait = !vcpu.interrupt_flag || vcpu.events_held;
    const Run first =
        run({.events_may_wait = events_may_wait, .stops_at_once = false, .needs_frames = false});
    if (first.begins_anew) {
        return;
    }
    UserStopped stopped = first.stopped;
    // A program that is still said to be entering after this many times lies.
    constexpr unsigned most_puts = 16;
    bool needs_frames = false;
    for (unsigned puts = 0; stopped.is(UserStop::by_signal); ++puts) {
        const std::optional<UserSignal> signal = read_signal(stopped);
        if (!signal) {
            break;
        }
        const bool is_event = stopped.arguments[1] == user_signal;
        const bool is_coming = is_event && is_coming_in(signal->frame);
        // On the way to where the program was put back: the VMM has only older registers of it. A process
        // that was put back into its handling of a signal tells of that one, which may have come on the way
        // out.
        const bool goes_once_more =
            is_event && puts != 0 && !needs_frames && where(signal->frame) == Where::going;
        if (!is_coming && !goes_once_more) {
            take_signal(state, stopped.arguments[1], *signal);
            return;
        }
        if (puts == most_puts) {
            break;
        }
        if (is_coming) {
            put_back(state, *signal);
            needs_frames = is_in_signal_handler(signal->frame);
        }
        stopped = run_to_stop(needs_frames);
    }
    if (stopped.is(UserStop::by_call)) {
        take_call(state);
    } else if (stopped.is(UserStop::failed)) {
        outdate_user(current_host()); // it tries again, with nothing mapped
    } else {
        refuse();
    }
}

} // namespace previrt::process
