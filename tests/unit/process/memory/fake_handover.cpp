// SPDX-License-Identifier: BSD-2-Clause
// The back-end reads it as a constant; a test writes it before each start.
#include "backends/process/contract/handover.hpp"

extern "C" {
extern previrt::process::Handover handover;
previrt::process::Handover handover;
}
