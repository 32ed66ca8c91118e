// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measuring_processor.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <system_error>

namespace previrt {

unsigned last_processor() {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    sched_getaffinity(0, sizeof(ours), &ours);
    unsigned last = 0;
    for (unsigned number = 0; number < CPU_SETSIZE; ++number) {
        if (CPU_ISSET(number, &ours)) {
            last = number;
        }
    }
    return last;
}

void move_to_processor(unsigned number) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        throw InputError("--cpu " + std::to_string(number) + ": " + std::generic_category().message(errno));
    }
    constexpr int first_of_all = -20;
    setpriority(PRIO_PROCESS, 0, first_of_all); // root only
}

} // namespace previrt
