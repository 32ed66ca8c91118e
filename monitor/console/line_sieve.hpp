// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Takes the lines of another voice out of a stream, as they come: from one of the marks, wherever in a line
// it stands, to the line's end. A hypervisor speaks into the midst of a guest's lines, which then go on.
class LineSieve {
public:
    using Taken = std::function<void(const std::string& mark, std::string_view text)>;

    // `taken` gets what follows the mark, without the end of the line.
    LineSieve(std::vector<std::string> marks, Taken taken);

    // What is left. The beginning of a mark at the end of `text` is held back until more is known.
    std::string read(std::string_view text);
    // What is held back, for those who wait no longer. It may still turn out to have begun a mark.
    std::string release();

private:
    [[nodiscard]] const std::string* mark_that_is_held() const;
    [[nodiscard]] bool may_become_a_mark() const;
    void read_in_line(char character);

    std::vector<std::string> marks_;
    Taken taken_;
    const std::string* mark_ = nullptr; // of the line that is being taken
    std::string line_;
    std::string held_;         // the beginning of a mark
    std::size_t released_ = 0; // of what is held
};

} // namespace previrt
