// SPDX-License-Identifier: BSD-2-Clause
// For back-ends whose guests have one processor.
#include "inplace-vmm/backend/processors.hpp"

namespace previrt::backend {

unsigned processor_count() {
    return 1;
}

void notify_processor(unsigned /*processor*/) {}

void let_others_go_on() {}

void gather_processors() {}

} // namespace previrt::backend
