// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Takes another speaker's lines out of a stream: from a mark, anywhere in a line, to the end of that line. A
// hypervisor prints in the middle of a guest's line, which then continues.
class LineSieve {
public:
    using Taken = std::function<void(const std::string& mark, std::string_view text)>;

    // `taken` gets the text behind the mark, without the end of the line.
    LineSieve(std::vector<std::string> marks, Taken taken);

    // Returns the rest. Holds back the beginning of a mark at the end of `text`, until more text decides.
    std::string read(std::string_view text);
    // Returns the held-back text after a silence. It may still prove to be the beginning of a mark.
    std::string release();

private:
    [[nodiscard]] const std::string* mark_that_is_held() const;
    [[nodiscard]] bool may_become_a_mark() const;
    void read_in_line(char character);

    std::vector<std::string> marks_;
    Taken taken_;
    const std::string* mark_ = nullptr; // of the current line
    std::string line_;
    std::string held_;         // the beginning of a mark
    std::size_t released_ = 0; // characters of held_
};

} // namespace previrt
