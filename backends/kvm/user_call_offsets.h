// SPDX-License-Identifier: BSD-2-Clause
// For entry.S; user_calls.cpp asserts them.
// NOLINTBEGIN(modernize-macro-to-enum): an assembler knows no enum.
#define USER_CALL_TAIL 32
#define USER_CALL_STUB_SHIFT 6
// NOLINTEND(modernize-macro-to-enum)
