// SPDX-License-Identifier: BSD-2-Clause
// For stub.S and entry.S: numbers of layout.hpp and user_state.hpp, which asserts them.
// NOLINTBEGIN(modernize-macro-to-enum): an assembler knows no enum.
#define USER_STUB 0x782ef000
#define USER_STATE 0x78300000
#define USER_STATE_BYTES 0x20000

#define USER_RAX (USER_STATE + 0x000)
#define USER_RCX (USER_STATE + 0x008)
#define USER_RDX (USER_STATE + 0x010)
#define USER_RBX (USER_STATE + 0x018)
#define USER_RSP (USER_STATE + 0x020)
#define USER_RBP (USER_STATE + 0x028)
#define USER_RSI (USER_STATE + 0x030)
#define USER_RDI (USER_STATE + 0x038)
#define USER_R8 (USER_STATE + 0x040)
#define USER_R9 (USER_STATE + 0x048)
#define USER_R10 (USER_STATE + 0x050)
#define USER_R11 (USER_STATE + 0x058)
#define USER_R12 (USER_STATE + 0x060)
#define USER_R13 (USER_STATE + 0x068)
#define USER_R14 (USER_STATE + 0x070)
#define USER_R15 (USER_STATE + 0x078)
#define USER_RIP (USER_STATE + 0x080)
#define USER_FS_BASE (USER_STATE + 0x088)
#define USER_GS_BASE (USER_STATE + 0x090)
#define USER_ES (USER_STATE + 0x098)
#define USER_DS (USER_STATE + 0x09a)
#define USER_FS (USER_STATE + 0x09c)
#define USER_GS (USER_STATE + 0x09e)
#define USER_CALL_NUMBER (USER_STATE + 0x0a0)

#define USER_EXIT (USER_STATE + 0x100) // registers in the same order
#define USER_EXIT_FS_BASE (USER_STATE + 0x1a8)
#define USER_EXIT_GS_BASE (USER_STATE + 0x1b0)
#define USER_EXIT_ES (USER_STATE + 0x1b8)
#define USER_EXIT_DS (USER_STATE + 0x1ba)
#define USER_EXIT_FS (USER_STATE + 0x1bc)
#define USER_EXIT_GS (USER_STATE + 0x1be)
#define USER_LOADS_SEGMENTS (USER_STATE + 0x1c0)
#define USER_ARMS_STACK (USER_STATE + 0x1c1)
#define USER_THEN (USER_STATE + 0x1c2)
#define USER_FRAMES_ARE_READ (USER_STATE + 0x1c3)
#define USER_STARTED (USER_STATE + 0x1c4)
#define USER_OPERATION_COUNT (USER_STATE + 0x1c8)
#define USER_OPERATIONS (USER_STATE + 0x200) // of 64 bytes
#define USER_OPERATION_HAS_32_BITS 56
#define USER_ENTRY_STACK_TOP (USER_STATE + 0x1000) // of one word
#define USER_ENTRY_VECTORS (USER_STATE + 0x1000)
#define USER_EXIT_VECTORS (USER_STATE + 0x5000)
#define USER_VECTOR_BYTES 0x4000
// The stack of the way out: the frame for its IRET, and below it room for the frames of signals.
#define USER_EXIT_STACK (USER_STATE + 0x9000)
#define USER_EXIT_STACK_BYTES 0x9000
#define USER_EXIT_FRAME (USER_EXIT_STACK + USER_EXIT_STACK_BYTES - 0x40)
#define USER_SIGNAL_STACK (USER_STATE + 0x12000)
#define USER_SIGNAL_STACK_BYTES 0xe000
#define USER_SIGNAL_STACK_TOP (USER_SIGNAL_STACK + USER_SIGNAL_STACK_BYTES)

// The requests with which a stub stops.
#define USER_STOP_CALL 0x1000 // no system call of Linux's
#define USER_STOP_BY_CALL 1
#define USER_STOP_BY_SIGNAL 2
#define USER_STOP_DONE 3
#define USER_STOP_FAILED 4

#define USER_THEN_STOP 0
#define USER_THEN_GO_ON 1
#define USER_THEN_ANNOUNCE 2
// NOLINTEND(modernize-macro-to-enum)
