// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>

namespace previrt {

// What Xen and, where it is not the guest, the first domain said, as far as it is of use afterwards.
class XenLog {
public:
    // `verbose`: each line goes to standard error at once, too.
    explicit XenLog(bool verbose = false) : verbose_(verbose) {}

    void add_of_xen(std::string_view line);
    void add_of_dom0(std::string_view line);
    // What was is of no more use.
    void forget() { lines_.clear(); }

    // Xen is there.
    [[nodiscard]] bool begun() const { return begun_; }
    // Xen or its first domain has failed, and Xen waits before it resets the machine.
    [[nodiscard]] bool over() const { return over_; }
    // Xen ended a guest whose kernel had no stack on which the frame of a trap could be put.
    [[nodiscard]] bool found_no_stack() const { return found_no_stack_; }
    // The last lines since Xen had started, from further back where the trouble began there.
    void print_end(std::ostream& output) const;

private:
    void add(std::string line);

    bool verbose_;
    std::deque<std::string> lines_;
    std::size_t since_trouble_ = 0; // lines; 0: there was none
    bool begun_ = false;
    bool over_ = false;
    bool found_no_stack_ = false;
};

} // namespace previrt
