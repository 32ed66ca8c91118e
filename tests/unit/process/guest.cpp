// SPDX-License-Identifier: BSD-2-Clause
// A VMM's image for the monitor's tests: under the keeper of the real one and without a filter, it does what
// the first character of its package says.
#include "backends/process/contract/handover.hpp"
#include "backends/process/contract/layout.hpp"
#include "backends/process/system_call.hpp"

#include <cstddef>

// The header, and what the keeper starts.
asm(R"(
    .section .header, "a"
    .ascii "pvt-proc"
    .quad image_end, event_word, 0
    .text
    .global first_host_entry
first_host_entry:
    leaq stack_end(%rip), %rsp
    call guest_main
)");

extern "C" {
std::uint32_t event_word; // this process's own: no monitor sees it
[[noreturn]] void guest_main();
}
asm(".bss; .balign 16; .space 16384; stack_end: .text");

namespace {

using namespace previrt::process;

// Of Linux, that the VMM has no use for.
constexpr auto call_open = static_cast<SystemCall>(2);
constexpr auto call_pause = static_cast<SystemCall>(34);
constexpr auto call_rt_sigprocmask = static_cast<SystemCall>(14);
constexpr auto call_socket = static_cast<SystemCall>(41);
constexpr auto call_fcntl = static_cast<SystemCall>(72);
constexpr auto call_mkdir = static_cast<SystemCall>(83);
constexpr auto call_getppid = static_cast<SystemCall>(110);
constexpr auto call_getuid = static_cast<SystemCall>(102);
constexpr auto call_capget = static_cast<SystemCall>(125);
constexpr auto call_stat = static_cast<SystemCall>(4);

volatile Handover* handover;
volatile ConsoleRing* output;
volatile ConsoleRing* input;

char* vmm_memory(std::uint64_t offset) {
    return reinterpret_cast<char*>(arena_address + offset);
}

void map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset) {
    call_host(call_mmap, {.first = address,
                          .second = bytes,
                          .third = may_read | may_write,
                          .fourth = map_shared | map_fixed,
                          .fifth = memory_descriptor,
                          .sixth = offset});
}

void ring_doorbell() {
    const std::uint64_t one = 1;
    call_host(call_write, {.first = output_event, .second = address_of(&one), .third = sizeof(one)});
}

void put(char character) {
    while (output->produced - output->consumed >= sizeof output->bytes) {
        ring_doorbell();
    }
    output->bytes[output->produced % sizeof output->bytes] = character;
    output->produced = output->produced + 1;
}

void print(const char* text) {
    for (; *text != 0; ++text) {
        put(*text);
    }
    ring_doorbell();
}

void print(std::uint64_t value) {
    char digits[24] = {};
    char* first = digits + sizeof digits - 1;
    do {
        *--first = static_cast<char>('0' + (value % 10));
        value /= 10;
    } while (value != 0);
    print(first);
}

void tell(const char* what, std::int64_t value) {
    print(what);
    print(value < 0 ? " -" : " ");
    print(static_cast<std::uint64_t>(value < 0 ? -value : value));
    print("\n");
}

[[noreturn]] void end(std::uint64_t status) {
    for (;;) {
        call_host(call_exit_group, {.first = status});
    }
}

// How many more there may be, each of them for ever.
void make_processes() {
    constexpr std::uint64_t beside_us = 0x8011;
    constexpr unsigned most = 1000;
    unsigned made = 0;
    for (; made < most; ++made) {
        const std::int64_t process = call_host(call_clone, {.first = beside_us});
        if (process < 0) {
            break;
        }
        while (process == 0) {
            call_host(call_pause, {});
        }
    }
    tell("made", made);
}

// Processes that ask for no signal, and take none that can be refused.
void cling_to_life() {
    constexpr std::uint64_t beside_us = 0x8011;
    constexpr std::uint64_t block = 0;
    const std::uint64_t all = ~std::uint64_t{0};
    call_host(call_rt_sigprocmask, {.first = block, .second = address_of(&all), .fourth = sizeof all});
    for (unsigned made = 0; made < 6; ++made) {
        if (call_host(call_clone, {.first = beside_us}) == 0) {
            break;
        }
    }
    for (;;) {
        call_host(call_pause, {});
    }
}

void tell_what_is_open() {
    constexpr std::uint64_t get_flags = 1;
    for (std::uint64_t descriptor = 0; descriptor < 2000; ++descriptor) {
        if (call_host(call_fcntl, {.first = descriptor, .second = get_flags}) >= 0) {
            tell("open", static_cast<std::int64_t>(descriptor));
        }
    }
}

void tell_what_may_be_done() {
    constexpr std::uint64_t get_no_new_privileges = 39;
    struct {
        std::uint32_t version = 0x20080522;
        std::int32_t process = 0;
    } header;
    static std::uint32_t capabilities[6]; // no memset is here to clear one
    static std::uint64_t attributes[18];
    call_host(call_capget, {.first = address_of(&header), .second = address_of(capabilities)});
    tell("capabilities", capabilities[0] | capabilities[1] | capabilities[2] | capabilities[3] |
                             capabilities[4] | capabilities[5]);
    tell("no new privileges", call_host(call_prctl, {.first = get_no_new_privileges}));
    tell("process", call_host(call_getpid, {}));
    tell("parent", call_host(call_getppid, {}));
    tell("user", call_host(call_getuid, {}));
    const char* const file = "/etc/passwd";
    const char* const directory = "/new";
    tell("a file", call_host(call_stat, {.first = address_of(file), .second = address_of(attributes)}));
    tell("a new directory", call_host(call_mkdir, {.first = address_of(directory), .second = 0777}));
    tell("the root", call_host(call_open, {.first = address_of("/")}));
    tell("a socket", call_host(call_socket, {.first = 1, .second = 1}));
}

// What is typed, up to a full stop.
void echo() {
    print("type: ");
    char character = 0;
    do {
        while (input->produced == input->consumed) {
        }
        const bool was_full = input->produced - input->consumed >= sizeof input->bytes;
        character = input->bytes[input->consumed % sizeof input->bytes];
        input->consumed = input->consumed + 1;
        if (was_full) {
            ring_doorbell();
        }
        put(character);
    } while (character != '.');
    print("\n");
}

void touch_all_memory() {
    constexpr std::uint64_t page = 4096;
    for (std::uint64_t offset = 0; offset < handover->guest_memory; offset += page) {
        auto* const word = reinterpret_cast<volatile std::uint64_t*>(ram_address + offset);
        *word = *word + offset;
    }
    for (std::uint64_t offset = 0; offset < handover->free.bytes; ++offset) {
        if (*vmm_memory(handover->free.offset + offset) != 0) {
            print("free memory is not zero\n");
            return;
        }
    }
    print("all is there\n");
}

void lie_in_rings() {
    for (std::uint32_t i = 1; i < 2000; ++i) {
        volatile ConsoleRing* const ring = (i & 1U) != 0 ? output : input;
        ring->produced = i * 0x12345677U;
        ring->consumed = i * 0x89abcdefU;
        ring->reader_waits = i;
        ring->bytes[i % sizeof ring->bytes] = static_cast<char>(i);
        if (i % 64 == 0) {
            ring_doorbell();
        }
    }
}

} // namespace

void guest_main() {
    map(arena_address, image_room, 0);
    handover = reinterpret_cast<volatile Handover*>(arena_address + (handover_address - image_address));
    const std::uint64_t vmm_bytes = handover->vmm_bytes;
    map(arena_address, vmm_bytes, 0);
    map(ram_address, handover->guest_memory, vmm_bytes);
    output = reinterpret_cast<volatile ConsoleRing*>(vmm_memory(handover->output.offset));
    input = reinterpret_cast<volatile ConsoleRing*>(vmm_memory(handover->input.offset));
    switch (*vmm_memory(handover->package.offset)) {
    case 'h':
        print("hello\n");
        break;
    case 'e':
        echo();
        break;
    case 'l': // much
        for (unsigned line = 0; line < 1000; ++line) {
            print("0123456789012345678901234567890123456789012345678901234567890123456789\n");
        }
        break;
    case 'm':
        touch_all_memory();
        break;
    case 'w': // without a word
        end(0);
    case 'x':
        end(77);
    case 'k':
        call_host(call_kill, {.first = static_cast<std::uint64_t>(call_host(call_getpid, {})), .second = 9});
        break;
    case 'u':
        asm volatile("ud2");
        break;
    case 'o': // another than the first ends
        if (call_host(call_clone, {.first = 0x8011}) == 0) {
            end(5);
        }
        for (;;) {
            call_host(call_pause, {});
        }
    case 'r':
        lie_in_rings();
        end(0);
    case 'p':
        print("Kernel panic - not syncing: test\n");
        break;
    case 's':
        print("spinning\n");
        for (;;) {
        }
    case 'f':
        make_processes();
        break;
    case 'n':
        cling_to_life();
        break;
    case 'd':
        tell_what_is_open();
        break;
    case 'c':
        tell_what_may_be_done();
        break;
    default:
        print("what?\n");
    }
    print("previrt-vmm: end: powered off\n");
    end(0);
}
