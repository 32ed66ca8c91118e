// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/user_state.hpp"

#include <cstdint>
#include <span>

// Changes of the memory of each user process, in order, to be made before its program continues. Host
// processes are given by their numbers. Only the processor of a host process changes these: others leave word
// in the address space (host_changes.hpp).
namespace previrt::process {

// Whether the range overlaps memory that each user process has for itself.
bool is_user_processes_own(std::uint64_t address, std::uint64_t bytes);

void note_user_mapping(unsigned host, std::uint64_t address, std::uint64_t bytes, std::uint32_t protection,
                       std::uint64_t offset);
// 0: it is unmapped.
void note_user_protection(unsigned host, std::uint64_t address, std::uint64_t bytes,
                          std::uint32_t protection);
// All of it is unmapped.
void empty_user(unsigned host);

// Those that were taken and not done come before all later ones.
void give_back_user_operations(unsigned host, std::span<const UserOperation> operations);

// Valid until this processor's next call.
std::span<UserOperation> take_user_operations(unsigned host);

} // namespace previrt::process
