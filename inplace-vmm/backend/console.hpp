// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace previrt::backend {

void write_console(std::string_view text);
std::optional<std::uint8_t> read_console();
[[noreturn]] void power_off();
[[noreturn]] void reboot();
[[noreturn]] void crash();

} // namespace previrt::backend
