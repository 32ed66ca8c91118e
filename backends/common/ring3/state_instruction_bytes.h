// SPDX-License-Identifier: BSD-2-Clause
// For C++ and assembly: from one instruction of state_instructions.h to the next.
// NOLINTNEXTLINE(modernize-macro-to-enum): an assembler knows no enum.
#define STATE_INSTRUCTION_BYTES 16
