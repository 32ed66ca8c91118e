// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// Throws InputError: the message names the file.
std::vector<std::uint8_t> read_file(const std::string& path);
std::string read_text(const std::string& path);

// Replaces `path` in one step, so that a failure leaves the old file; throws InputError.
void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes);
void write_text(const std::string& path, const std::string& text);
// Throws InputError if that would fail now. Leaves `path` as it is.
void check_writable(const std::string& path);

} // namespace previrt
