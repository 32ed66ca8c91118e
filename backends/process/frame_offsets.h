// SPDX-License-Identifier: BSD-2-Clause
// For entry.S: Linux's signal frame, and numbers of layout.hpp and system_call.hpp; entries.cpp asserts them.
// NOLINTBEGIN(modernize-macro-to-enum): an assembler knows no enum.
#define FRAME_RAX 144
#define FRAME_RIP 168
#define FRAME_VECTOR_REGISTERS 224

// EAX of XSAVE and XRSTOR: all components but two.
// AMX's tile data (18): a host process has none unless it asked Linux for it, and Linux's signal frames then have
// no room for it; yet XRSTOR touches the last byte of each component that the mask names, also of one that the
// area does not have.
// The rights of protection keys (9): a program can take all rights away from itself. If the VMM loaded these
// rights, it could reach none of its own memory.
#define SAVED_COMPONENTS 0xfffbfdff

#define CALL_CLOSE 3
#define CALL_MMAP 9
#define CALL_IOCTL 16
#define CALL_RT_SIGRETURN 15
#define CALL_CLONE 56
#define CALL_WAIT4 61
#define CALL_PRCTL 157
#define CALL_FUTEX 202
#define CALL_EXIT_GROUP 231
#define CALL_32_SET_THREAD_AREA 243
#define CLONE_FLAGS 0x8011 // CLONE_PARENT | SIGCHLD
#define CLONE_FILES 0x400
#define NOTIFICATION_RECEIVE 0xc0502100

#define IMAGE_ADDRESS 0x78000000
#define IMAGE_ROOM 0x200000
#define MEMORY_DESCRIPTOR 3
#define KEEPERS_END 8
#define PRIVATE_ADDRESS 0x78300000
#define PRIVATE_STACK_TOP 0x78340000
#define EVENT_SIGNAL 10
#define TIMER_SIGNAL 14
#define USER_SIGNAL 23

// user_calls.cpp
#define USER_CALL_RETURNS 0x782f0000
#define USER_CALL_TAILS 0x782f101a
#define USER_CALL_STUB_SHIFT 6
// NOLINTEND(modernize-macro-to-enum)
