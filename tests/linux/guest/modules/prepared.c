// SPDX-License-Identifier: GPL-2.0
/*
 * A module with sites of its own. In user mode the processor would do pushf and popf silently as the host: the
 * interrupt flag neither falls nor shows.
 */
#include <linux/irqflags.h>
#include <linux/module.h>

static unsigned long flags(void)
{
	unsigned long value;

	asm volatile("pushf; pop %0" : "=r"(value));
	return value;
}

static noinline bool interrupts_obey(void)
{
	unsigned long before = flags(), within, after;

	local_irq_disable();
	within = flags();
	asm volatile("push %0; popf" : : "r"(before) : "memory", "cc");
	after = flags();
	local_irq_enable();
	return (before & X86_EFLAGS_IF) && !(within & X86_EFLAGS_IF) && (after & X86_EFLAGS_IF);
}

static int __init start(void)
{
	pr_info("module: at %lx\n", (unsigned long)&interrupts_obey);
	return interrupts_obey() ? 0 : -EIO;
}

static void __exit end(void)
{
	if (!interrupts_obey())
		pr_err("module: the interrupt flag does not obey\n");
}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
