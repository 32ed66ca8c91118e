// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measuring_processor.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <vector>

namespace previrt {

namespace {

std::vector<unsigned> our_processors() {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    sched_getaffinity(0, sizeof(ours), &ours);
    std::vector<unsigned> numbers;
    for (unsigned number = 0; number < CPU_SETSIZE; ++number) {
        if (CPU_ISSET(number, &ours)) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

} // namespace

unsigned last_processor() {
    const std::vector<unsigned> ours = our_processors();
    return ours.empty() ? 0 : ours.back();
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

Program limited_to(unsigned processors, Program program) {
    const std::vector<unsigned> ours = our_processors();
    if (ours.size() < processors) {
        throw InputError("this program has " + std::to_string(ours.size()) +
                         " of this machine's processors, fewer than " + std::to_string(processors));
    }
    std::string list;
    for (std::size_t i = ours.size() - processors; i < ours.size(); ++i) {
        list += (list.empty() ? "" : ",") + std::to_string(ours[i]);
    }
    program.arguments.insert(program.arguments.begin(), {"taskset", "--cpu-list", list});
    return program;
}

} // namespace previrt
