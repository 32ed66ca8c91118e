// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/places.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// The kind of an exception for bytes that are data, though they could be read as a sensitive instruction.
constexpr const char* data_kind = "data";

// Sensitive instructions that may stay unrecorded, with the reason. One a line:
//
//     PLACE  KIND  REASON ...
//
// PLACE is a symbol, symbol+0xOFFSET, section:NAME or section:NAME+0xOFFSET; "*" stands for any characters.
// '#' begins a comment.
class ExceptionList {
public:
    struct Entry {
        unsigned line;
        std::string place;
        std::string kind;
        std::string reason;
        unsigned uses;
    };

    ExceptionList() = default;
    // Throws InputError: the message names `path` and the line.
    ExceptionList(const std::string& path, std::string_view text);

    // The entry that explains an instruction of `kind` at `place`, or nullptr. Counts its use.
    const Entry* find(const Place& place, std::string_view kind);

    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

private:
    std::vector<Entry> entries_;
};

} // namespace previrt
