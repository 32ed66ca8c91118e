/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 10
 *
 * An NVMe controller whose driver polls: it looks at its completion queue in memory alone, and does not halt.
 * Each command ends all the same: with interrupts disabled, also while one is requested, with interrupts
 * enabled, one by one and many at once; a reset ends behind commands that nobody has waited for.
 *
 * polled_disk.sh gives it a disk, whose blocks of 512 bytes begin with their numbers.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

#include <previrt/annotate.h>

enum {
    configuration_address = 0xcf8,
    configuration_data = 0xcfc,
    nvme_class = 0x010802,
    qemu_vendor = 0x1b36,
    decodes_memory_and_masters_bus = 6,
};

enum controller_register {
    configuration = 0x14,
    status = 0x1c,
    admin_queue_sizes = 0x24,
    admin_submissions = 0x28,
    admin_completions = 0x30,
    doorbells = 0x1000,
};

enum {
    enable = 1,
    entry_sizes = 0x00460000,
    ready = 1,
    entries = 16,
    create_submission_queue = 1,
    create_completion_queue = 5,
    flush = 0,
    read = 2,
};

struct command {
    uint32_t opcode_and_identifier;
    uint32_t namespace_id;
    uint64_t reserved[2];
    uint64_t data[2];
    uint32_t words[6];
};

struct completion {
    uint32_t result[2];
    uint32_t queue_and_head;
    uint32_t status_and_identifier; /* the phase tag is bit 16 */
};

struct queue {
    struct command* submissions;
    volatile struct completion* completions;
    unsigned tail, head;
};

static const uintptr_t registers = 0x50000000;
static struct queue queues[2];
static uint64_t* data[entries]; /* of each command */
static bool is_qemu;            /* not a VMM's controller */

static uint32_t read_configuration(unsigned device, unsigned offset) {
    uint32_t value;
    asm volatile(
        "outl %[value], %[port]"
        :
        : [value] "a"(0x80000000U | device << 11 | offset), [port] "d"((uint16_t)configuration_address));
    asm volatile("inl %[port], %[value]" : [value] "=a"(value) : [port] "d"((uint16_t)configuration_data));
    return value;
}

static void write_configuration(unsigned device, unsigned offset, uint32_t value) {
    (void)read_configuration(device, offset);
    asm volatile("outl %[value], %[port]" : : [value] "a"(value), [port] "d"((uint16_t)configuration_data));
}

static uint32_t read_register(unsigned offset) {
    return previrt_mmio_read32(PREVIRT_DEVICE_ANY, registers + offset);
}

static void write_register(unsigned offset, uint32_t value) {
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, registers + offset, value);
}

static void write_address(unsigned offset, uintptr_t value) {
    write_register(offset, (uint32_t)value);
    write_register(offset + 4, 0);
}

static bool find_controller(void) {
    for (unsigned device = 0; device < 32; ++device) {
        if (read_configuration(device, 8) >> 8 == nvme_class) {
            const uint32_t bar = read_configuration(device, 0x10) & ~0xfU;
            is_qemu = (read_configuration(device, 0) & 0xffff) == qemu_vendor;
            write_configuration(device, 4, decodes_memory_and_masters_bus);
            for (unsigned offset = 0; offset <= doorbells; offset += page_size) {
                map_page(registers + offset, bar + offset, page_present | page_writable);
            }
            return true;
        }
    }
    return false;
}

/* Returns its number in its queue. */
static unsigned post(unsigned number, struct command command) {
    struct queue* const queue = &queues[number];
    const unsigned place = queue->tail % entries;
    command.opcode_and_identifier |= place << 16;
    queue->submissions[place] = command;
    ++queue->tail;
    asm volatile("" : : : "memory");
    write_register(doorbells + number * 8, queue->tail % entries);
    return place;
}

static bool has_completion(unsigned number) {
    const struct queue* const queue = &queues[number];
    const uint32_t phase = queue->completions[queue->head % entries].status_and_identifier >> 16 & 1;
    return phase == (queue->head / entries % 2 == 0 ? 1 : 0);
}

/* Waits for the next. Returns its status, 0: success. */
static uint32_t take(unsigned number) {
    struct queue* const queue = &queues[number];
    while (!has_completion(number)) {
    }
    const uint32_t ended = queue->completions[queue->head % entries].status_and_identifier >> 17;
    ++queue->head;
    write_register(doorbells + number * 8 + 4, queue->head % entries);
    return ended;
}

static void make_queue(unsigned number) {
    queues[number] = (struct queue){.submissions = allocate_page(), .completions = allocate_page()};
}

static uint32_t start_controller(void) {
    make_queue(0);
    make_queue(1);
    write_register(admin_queue_sizes, (entries - 1) | (entries - 1) << 16);
    write_address(admin_submissions, (uintptr_t)queues[0].submissions);
    write_address(admin_completions, (uintptr_t)queues[0].completions);
    write_register(configuration, entry_sizes | enable);
    while ((read_register(status) & ready) == 0) {
    }
    (void)post(0, (struct command){.opcode_and_identifier = create_completion_queue,
                                   .data = {(uintptr_t)queues[1].completions},
                                   .words = {1 | (entries - 1) << 16, 1}});
    const uint32_t first = take(0);
    (void)post(0, (struct command){.opcode_and_identifier = create_submission_queue,
                                   .data = {(uintptr_t)queues[1].submissions},
                                   .words = {1 | (entries - 1) << 16, 1 | 1 << 16}});
    return first | take(0);
}

static void stop_controller(void) {
    write_register(configuration, entry_sizes);
    while ((read_register(status) & ready) != 0) {
    }
}

static unsigned post_read(uint32_t block) {
    const unsigned place = queues[1].tail % entries;
    data[place][0] = ~UINT64_C(0);
    return post(1, (struct command){.opcode_and_identifier = read,
                                    .namespace_id = 1,
                                    .data = {(uintptr_t)data[place]},
                                    .words = {block}});
}

static bool reads(uint32_t block) {
    const unsigned place = post_read(block);
    return take(1) == 0 && *(volatile uint64_t*)data[place] == block;
}

static bool reads_many(void) {
    unsigned places[entries];
    bool good = true;
    for (unsigned i = 0; i < entries / 2; ++i) {
        places[i] = post_read(i + 7);
    }
    for (unsigned i = 0; i < entries / 2; ++i) {
        good = take(1) == 0 && good;
    }
    for (unsigned i = 0; i < entries / 2; ++i) {
        good = *(volatile uint64_t*)data[places[i]] == i + 7 && good;
    }
    return good;
}

static void tick(struct frame* frame) {
    (void)frame;
    end_of_interrupt(0);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    /* A VMM knows from now on that this processor halts when it has no work. */
    unmask_irq(0);
    request_timer_interrupt();
    asm volatile("sti\n hlt\n cli" : : : "memory");
    for (unsigned i = 0; i < entries; ++i) {
        data[i] = allocate_page();
    }
    check("there is a controller", find_controller());
    stop_controller();
    check_equal("queues are made", start_controller(), 0);
    check("interrupts disabled: a read", reads(3));
    check("interrupts disabled: many reads", reads_many());
    check_equal("interrupts disabled: a flush",
                (post(1, (struct command){.opcode_and_identifier = flush, .namespace_id = 1}), take(1)), 0);
    request_timer_interrupt();
    check("an interrupt requested: a read", reads(4));
    check("an interrupt requested: many reads", reads_many());
    enable_interrupts();
    bool good = true;
    for (uint32_t i = 0; i < 50; ++i) {
        good = reads(i) && good;
    }
    check("interrupts enabled: reads one by one", good);
    disable_interrupts();
    for (uint32_t i = 0; i < entries / 2; ++i) {
        (void)post_read(i);
    }
    /* QEMU's controller (7.2, and the source of 2025) may take commands from memory while its reset waits for
     * the disk. It frees the queue before they end, and crashes. */
    for (uint32_t i = 0; is_qemu && i < entries / 2; ++i) {
        (void)take(1);
    }
    stop_controller();
    check_equal("a reset behind commands in flight", start_controller(), 0);
    check("and a read", reads(5));
}
