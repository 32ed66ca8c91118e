/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Linked into a selftest: what it has said is there even if it dies.
 */
#include <stdio.h>

__attribute__((constructor)) static void buffer_lines(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}
