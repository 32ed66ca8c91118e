// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/profile.hpp"

#include <string>

namespace previrt {

// A flame graph as an SVG document: all, causes, functions, instructions, one above the other. The width of
// each is its part of the whole; one that is too narrow to be seen is left out.
std::string draw_flame_graph(const Profile& profile, const std::string& title);

} // namespace previrt
