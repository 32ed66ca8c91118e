// SPDX-License-Identifier: GPL-2.0
/* A module of about the other's size, with other instructions where that one's sites are. */
#include <linux/irqflags.h>
#include <linux/module.h>

static noinline unsigned int control_register(void)
{
	unsigned long value;

	asm volatile("mov %%cr0, %0" : "=r"(value));
	return value;
}

static noinline int counts(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < 100; ++i) {
		local_irq_disable();
		sum += i;
		local_irq_enable();
	}
	return sum == 4950 && (control_register() & 1) ? 0 : -EIO;
}

static int __init start(void)
{
	pr_info("module: at %lx\n", (unsigned long)&control_register);
	return counts();
}

static void __exit end(void)
{
	if (counts())
		pr_err("module: it counts wrong\n");
}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
