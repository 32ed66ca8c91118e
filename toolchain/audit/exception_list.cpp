// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/audit/exception_list.hpp"

#include "host/input_error.hpp"
#include "previrt/site_kinds.hpp"

#include <algorithm>
#include <fnmatch.h>
#include <sstream>

namespace previrt {

namespace {

bool matches(const std::string& pattern, const std::string& text) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool names_place(const std::string& pattern, const Place& place) {
    const std::string section = "section:" + place.section;
    if (matches(pattern, section) || matches(pattern, section + "+" + hex(place.offset))) {
        return true;
    }
    return place.symbol && (matches(pattern, *place.symbol) ||
                            matches(pattern, *place.symbol + "+" + hex(place.symbol_offset)));
}

bool is_kind(const std::string& name) {
    return std::ranges::any_of(site_kinds, [&](const SiteKindInfo& info) { return name == info.name; });
}

} // namespace

ExceptionList::ExceptionList(const std::string& path, std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::string line;
    for (unsigned number = 1; std::getline(lines, line); ++number) {
        std::istringstream words(line.substr(0, line.find('#')));
        Entry entry{.line = number, .place = {}, .kind = {}, .reason = {}, .uses = 0};
        if (!(words >> entry.place)) {
            continue;
        }
        words >> entry.kind >> std::ws;
        std::getline(words, entry.reason);
        const std::string where = path + ":" + std::to_string(number) + ": ";
        if (entry.reason.empty()) {
            throw InputError(where + "an exception is PLACE KIND REASON");
        }
        if (!is_kind(entry.kind) && entry.kind != "*" && entry.kind != data_kind) {
            throw InputError(where + "no site kind is called '" + entry.kind + "'");
        }
        entries_.push_back(std::move(entry));
    }
}

const ExceptionList::Entry* ExceptionList::find(const Place& place, std::string_view kind) {
    for (Entry& entry : entries_) {
        if ((entry.kind == "*" || entry.kind == kind) && names_place(entry.place, place)) {
            ++entry.uses;
            return &entry;
        }
    }
    return nullptr;
}

} // namespace previrt
