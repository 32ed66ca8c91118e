/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The first process of a guest of which nothing is wanted but how soon it is there.
 */
#include <stdio.h>
#include <sys/reboot.h>

int main(void)
{
	puts("launched");
	fflush(stdout);
	return reboot(RB_POWER_OFF);
}
