// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace previrt {

// Shows the progress of a kernel's build from the output of make: one changing line on a terminal, otherwise
// a line each half minute.
class MakeProgress {
public:
    explicit MakeProgress(const std::string& what);

    void line(std::string_view text);
    void finish();

private:
    void show(std::string_view step);

    std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point shown_;
    unsigned steps_ = 0;
    bool terminal_;
};

} // namespace previrt
