// SPDX-License-Identifier: BSD-2-Clause
// For entry.S and user_calls.cpp: the offset of a stub's part behind the system call, and the size of a stub.
// NOLINTBEGIN(modernize-macro-to-enum): an assembler knows no enum.
#define USER_CALL_TAIL 32
#define USER_CALL_STUB_SHIFT 6
// NOLINTEND(modernize-macro-to-enum)
