// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/filter.hpp"

#include "backends/process/contract/user_state.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/process.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::process {

namespace {

enum Code : std::uint16_t { load_word = 0x20, and_with = 0x54, jump_if_equal = 0x15, give = 0x06 };
enum Action : std::uint32_t { trap = 0x00030000, ask = 0x7fc00000, allow = 0x7fff0000 };
// The offset of a filter's input.
enum Place : std::uint8_t { number_of_call = 0, architecture = 4, next_instruction = 8, first_argument = 16 };

// A sequence of cases: if all conditions of one hold, it decides; otherwise the next one is tried.
class Filter {
public:
    explicit Filter(std::span<FilterInstruction> room) : room_(room) {}

    // Begins a case of system calls from the instruction before this one.
    void begin(const std::uint8_t* next, std::uint32_t table = architecture_64) {
        case_begins_ = count_;
        require(next_instruction, stub_place(next));
        require_low(architecture, table);
    }
    void call(std::uint32_t number) { require_low(number_of_call, number); }
    void argument(unsigned which, std::uint64_t value) { require(first_argument + (which * 8), value); }
    void argument_within(unsigned which, std::uint32_t mask) {
        add(load_word, first_argument + (which * 8));
        add(and_with, ~mask);
        add(jump_if_equal, 0);
        require_low(first_argument + (which * 8) + 4, 0);
    }
    void end(Action action) {
        add(give, action);
        for (unsigned i = case_begins_; i < count_; ++i) {
            if (room_[i].code == jump_if_equal) {
                room_[i].if_false = static_cast<std::uint8_t>(count_ - i - 1);
            }
        }
    }
    std::span<const FilterInstruction> finish() {
        add(give, trap);
        return room_.first(count_);
    }

private:
    void add(Code code, std::uint32_t value) {
        if (count_ == room_.size()) {
            stop_guest("there is no room for the filter of user processes");
        }
        room_[count_++] = {.code = code, .if_true = 0, .if_false = 0, .value = value};
    }
    void require_low(unsigned place, std::uint32_t value) {
        add(load_word, place);
        add(jump_if_equal, value);
    }
    void require(unsigned place, std::uint64_t value) {
        require_low(place, static_cast<std::uint32_t>(value));
        require_low(place + 4, static_cast<std::uint32_t>(value >> 32U));
    }

    std::span<FilterInstruction> room_;
    unsigned count_ = 0;
    unsigned case_begins_ = 0;
};

} // namespace

std::span<const FilterInstruction> make_user_filter(std::span<FilterInstruction> room) {
    constexpr std::uint32_t rights = may_read | may_write | may_execute;
    constexpr std::uint64_t write_local_table = 0x11;
    constexpr std::uint64_t unshare = 2;
    constexpr std::uint64_t wake = 1;
    Filter filter(room);
    filter.begin(user_stub_stopped);
    filter.call(USER_STOP_CALL);
    filter.end(ask);
    filter.begin(user_stub_allowed);
    filter.call(call_sigaltstack);
    filter.argument(0, stub_place(user_stub_signal_stack));
    filter.argument(1, 0);
    filter.end(allow);
    filter.begin(user_stub_allowed);
    filter.call(call_futex);
    filter.argument(0, user_state_address + offsetof(UserState, started));
    filter.argument(1, wake);
    filter.end(allow);
    filter.begin(user_stub_operated);
    filter.call(call_mmap);
    filter.argument_within(2, rights);
    filter.argument_within(3, map_shared | map_fixed | map_populate);
    filter.argument(4, memory_descriptor);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_munmap);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_mprotect);
    filter.argument_within(2, rights);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_modify_ldt);
    filter.argument(0, write_local_table);
    filter.end(ask);
    filter.begin(user_stub_operated_32, architecture_32);
    filter.call(call_32_set_thread_area);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_prctl);
    filter.argument(0, set_user_dispatch);
    filter.argument(1, dispatch_on);
    filter.argument(2, user_stub_address);
    filter.argument(3, page_size);
    filter.argument(4, 0);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_close_range);
    filter.argument(2, unshare);
    filter.end(ask);
    filter.begin(user_stub_operated);
    filter.call(call_clone);
    filter.argument(0, clone_beside_us);
    filter.end(ask);
    return filter.finish();
}

} // namespace previrt::process
