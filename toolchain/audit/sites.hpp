// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/kernel_file.hpp"

#include <iosfwd>

namespace previrt {

// The records of a file: a table by kind, or each of them as JSON. Throws InputError.
void print_sites_text(std::ostream& out, const KernelFile& file);
void print_sites_json(std::ostream& out, const KernelFile& file);

} // namespace previrt
