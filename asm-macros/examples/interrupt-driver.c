/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A driver's register accesses and the instructions around them, as in docs/annotate-a-driver.md.
 * The device has an interrupt status register that clears when it is read, a mask and a doorbell.
 */
#include <previrt/annotate.h>

#define STATUS 0x10
#define MASK 0x14
#define DOORBELL 0x00

struct device {
	volatile char *registers;
	unsigned int pending;
};

static unsigned int read_register(struct device *device, unsigned int offset)
{
	return previrt_mmio_read32(PREVIRT_DEVICE_ANY, device->registers + offset);
}

static void write_register(struct device *device, unsigned int offset, unsigned int value)
{
	previrt_mmio_write32(PREVIRT_DEVICE_ANY, device->registers + offset, value);
}

static unsigned long disable_interrupts(void)
{
	unsigned long flags;

	__asm__ volatile("pushf; pop %0; cli" : "=r"(flags) : : "memory");
	return flags;
}

static void restore_interrupts(unsigned long flags)
{
	if (flags & 0x200)
		__asm__ volatile("sti" : : : "memory");
}

void device_interrupt(struct device *device)
{
	device->pending |= read_register(device, STATUS);
	write_register(device, MASK, 0);
}

void device_send(struct device *device, unsigned int descriptor)
{
	unsigned long flags = disable_interrupts();

	device->pending = 0;
	write_register(device, MASK, ~0u);
	write_register(device, DOORBELL, descriptor);
	restore_interrupts(flags);
}

void device_map(unsigned long *entry, unsigned long frame)
{
	previrt_page_table_write(PREVIRT_PTE, entry, frame | 3);
	if (previrt_page_table_test_and_clear_bit(PREVIRT_PTE, entry, 5))
		previrt_page_table_exchange(PREVIRT_PTE, entry, 0);
}

/* Whether nothing was mapped there. */
int device_map_first(unsigned long *entry, unsigned long frame)
{
	unsigned long absent = 0;

	return previrt_page_table_try_compare_exchange(PREVIRT_PTE, entry, &absent, frame | 3);
}
