// SPDX-License-Identifier: GPL-2.0
/* A module without any sensitive instruction. */
#include <linux/module.h>

static int __init start(void)
{
	return 0;
}

static void __exit end(void)
{
}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
