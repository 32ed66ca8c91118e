// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::agent {

// `namespaces`: as Start's.
// Joins the namespaces and the control group of the guest's first command, if the flags say so: those of
// processes only for the children of this process. Gives an error number of Linux's; 0: none.
int enter_namespaces(std::uint32_t namespaces);
// As fork(); the child has the new namespaces of the flags. The first child with some is the one whose
// namespaces others join.
long fork_into_namespaces(std::uint32_t namespaces);

} // namespace previrt::agent
