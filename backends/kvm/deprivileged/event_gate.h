// SPDX-License-Identifier: BSD-2-Clause
// For entry.S and entries.cpp: the vector of events, and a stack of the IST.
// NOLINTBEGIN(modernize-macro-to-enum): an assembler knows no enum.
#define EVENT_VECTOR 0xf0
#define DUPLICATE_STACK 3
// NOLINTEND(modernize-macro-to-enum)
