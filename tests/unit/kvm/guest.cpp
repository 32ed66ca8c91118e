// SPDX-License-Identifier: BSD-2-Clause
// A VMM's image for the monitor's tests: it lives at CPL 3 like a real one, and does what the first character
// of its package says.
#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/deprivileged/contract/layout.hpp"

#include <cstddef>

// The header, and the entry, which has no stack yet.
asm(R"(
    .section .header, "a"
    .ascii "pvt-kvm\0"
    .quad guest_entry, global_table, 56, local_table, 16, interrupt_table, 4096, task, 104, event_word
    .quad guest_entry, guest_entry, guest_entry, own_pages, own_pages, 0
    .text
    .global guest_entry
guest_entry:
    leaq stack_end(%rip), %rsp
    call guest_main
)");

extern "C" {
alignas(16) std::uint64_t global_table[7] = {
    0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff, 0x00cffb000000ffff, 0x00cff3000000ffff, 0x00affb000000ffff};
alignas(16) std::uint64_t local_table[2];
alignas(16) std::uint32_t interrupt_table[256][4];
alignas(16) std::uint32_t task[26];
std::uint32_t event_word;
[[noreturn]] void guest_main();
}
asm(".bss; .balign 16; .space 16384; stack_end: .text");

namespace {

using namespace previrt::kvm;

volatile std::uint32_t& device(std::uint64_t address) {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}

volatile Handover& handover = *reinterpret_cast<volatile Handover*>(handover_address);
volatile ConsoleRing* output;
volatile ConsoleRing* input;

char* vmm_memory(std::uint64_t offset) {
    return reinterpret_cast<char*>(map_address + (handover.vmm_memory - ram_base) + offset);
}

void ring_doorbell(std::uint64_t which) {
    device(doorbell_address + which) = 1;
}

void put(char character) {
    while (output->produced - output->consumed >= sizeof output->bytes) {
        ring_doorbell(doorbell_output);
    }
    output->bytes[output->produced % sizeof output->bytes] = character;
    output->produced = output->produced + 1;
}

void print(const char* text) {
    for (; *text != 0; ++text) {
        put(*text);
    }
    ring_doorbell(doorbell_output);
}

void print(std::uint64_t value) {
    for (unsigned shift = 64; shift != 0; shift -= 4) {
        put("0123456789abcdef"[value >> (shift - 4) & 0xfU]);
    }
    print("\n");
}

[[noreturn]] void end() {
    for (;;) {
        ring_doorbell(doorbell_end);
    }
}

[[noreturn]] void power_off() {
    print("previrt-vmm: end: powered off\n");
    end();
}

// Reads as a VMM does, and rings when there is room again.
bool read(char& character) {
    const std::uint32_t waiting = input->produced - input->consumed;
    if (waiting == 0) {
        return false;
    }
    character = input->bytes[input->consumed % sizeof input->bytes];
    input->consumed = input->consumed + 1;
    if (waiting >= sizeof input->bytes) {
        ring_doorbell(doorbell_output);
    }
    return true;
}

// What is typed, up to a full stop; nothing is read before the first event.
void echo() {
    print("type: ");
    while (__atomic_load_n(&event_word, __ATOMIC_SEQ_CST) == 0) {
        asm volatile("pause");
    }
    char character = 0;
    do {
        while (!read(character)) {
        }
        put(character);
    } while (character != '.');
    print("\n");
}

std::uint64_t time_stamp() {
    std::uint32_t low = 0;  // NOLINT(misc-const-correctness): rdtsc writes it
    std::uint32_t high = 0; // NOLINT(misc-const-correctness)
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return std::uint64_t{high} << 32U | low;
}

void touch_all_memory() {
    const std::uint64_t bytes = handover.guest_memory;
    for (std::uint64_t offset = 0; offset < bytes; offset += page_size) {
        auto* const word = reinterpret_cast<volatile std::uint64_t*>(map_address + offset);
        *word = *word + offset;
    }
    const std::uint64_t free = handover.free.offset;
    for (std::uint64_t offset = 0; offset < handover.free.bytes; ++offset) {
        if (*vmm_memory(free + offset) != 0) {
            print("free memory is not zero\n");
            return;
        }
    }
    print("all is there\n");
}

} // namespace

void guest_main() {
    output = reinterpret_cast<volatile ConsoleRing*>(vmm_memory(handover.output.offset));
    input = reinterpret_cast<volatile ConsoleRing*>(vmm_memory(handover.input.offset));
    switch (*vmm_memory(handover.package.offset)) {
    case 'h':
        print("hello\n");
        break;
    case 'e':
        echo();
        break;
    case 'f':
        for (unsigned line = 0; line < 1000; ++line) {
            print("0123456789012345678901234567890123456789012345678901234567890123456789\n");
        }
        break;
    case 'm':
        touch_all_memory();
        break;
    case 't':
        print(handover.clock.time_stamp_khz);
        print(handover.clock.epoch_nanoseconds);
        print(handover.clock.epoch_time_stamp);
        print(time_stamp());
        break;
    case 'i':
        print(handover.isolates_user_mode);
        break;
    case 's':
        print("spinning\n");
        for (;;) {
        }
    case '3': // no gate for it: a triple fault
        print("falling\n");
        asm volatile("ud2");
        break;
    case 'd': // a doorbell that is none
        ring_doorbell(64);
        break;
    case 'w': // without a word
        end();
    case 'p':
        print("Kernel panic - not syncing: test\n");
        break;
    case 'c': // a counter that lies
        output->produced = output->produced + 0x80000000U;
        ring_doorbell(doorbell_output);
        print("\nnonsense is over\n");
        break;
    case 'x': // into its own text
        *reinterpret_cast<volatile std::uint64_t*>(image_address) = 0;
        print("text is writable\n");
        break;
    default:
        print("what?\n");
    }
    power_off();
}
