// SPDX-License-Identifier: BSD-2-Clause
// For C++ and assembly: the distance between two instructions of state_instructions.h.
// NOLINTNEXTLINE(modernize-macro-to-enum): an assembler knows no enum.
#define STATE_INSTRUCTION_BYTES 16
