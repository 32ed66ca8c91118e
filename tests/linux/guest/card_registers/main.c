// SPDX-License-Identifier: BSD-2-Clause
// Registers of the network card from user mode, by instructions that nobody has annotated.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { registers_bytes = 4096, identification = 0x200 / 4, vlan_data = 0xc4 / 4 };
static const uint32_t dp83820 = 0x0022100b;

static int failed;

static void check(const char* what, uint32_t got, uint32_t wanted) {
    if (got != wanted) {
        printf("card_registers: FAILED: %s: %08x instead of %08x\n", what, got, wanted);
        failed = 1;
    }
}

static uint32_t load(const volatile uint32_t* place) {
    uint32_t value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*place));
    return value;
}

static void strings(volatile uint32_t* registers) {
    enum { words = 64 }; // the mirror of the configuration space
    uint32_t copy[words + 1] = {0};
    const volatile uint32_t* from = &registers[identification];
    uint32_t* to = copy;
    uint64_t count = words;
    __asm__ volatile("rep movsl" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
    check("the first of a string", copy[0], dp83820);
    for (int i = 0; i < words; ++i)
        check("one of a string", copy[i], load(&registers[identification + i]));
    check("what is behind a string", copy[words], 0);
    volatile uint32_t* place = &registers[vlan_data];
    __asm__ volatile("stosl" : "+D"(place) : "a"(0x13579bdf) : "memory");
    check("a string's store", load(&registers[vlan_data]), 0x13579bdf);
}

int main(void) {
    const int file = open("/sys/bus/pci/devices/0000:00:03.0/resource1", O_RDWR);
    volatile uint32_t* const registers =
        mmap(NULL, registers_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (registers == MAP_FAILED) {
        perror("card_registers: FAILED: resource1");
        return 1;
    }
    volatile uint32_t* const place = &registers[vlan_data];
    const uint32_t before = load(place);
    uint32_t value = 0x0f0f0f0f;
    uint8_t carry;
    check("the identification", load(&registers[identification]), dp83820);
    __asm__ volatile("movl %1, %0" : "=m"(*place) : "r"(0x12345678));
    check("a store", load(place), 0x12345678);
    __asm__ volatile("orl %1, %0" : "+m"(*place) : "r"(0x80000001));
    check("or", load(place), 0x92345679);
    __asm__ volatile("addl %2, %0; setc %1" : "+m"(*place), "=q"(carry) : "r"(0x80000000));
    check("a sum", load(place), 0x12345679);
    check("its carry", carry, 1);
    __asm__ volatile("xchgl %1, %0" : "+m"(*place), "+r"(value));
    check("what was exchanged", value, 0x12345679);
    check("an exchange", load(place), 0x0f0f0f0f);
    strings(registers);
    *place = before;
    printf("card_registers: %s\n", failed ? "failed" : "passed");
    return failed;
}
