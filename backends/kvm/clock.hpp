// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::kvm {

void start_clock();

} // namespace previrt::kvm
