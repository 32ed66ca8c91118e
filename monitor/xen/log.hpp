// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>

namespace previrt {

// The messages of Xen and of a first domain other than the guest, as far as they are useful afterwards.
class XenLog {
public:
    // `verbose`: each line goes to standard error at once, too.
    explicit XenLog(bool verbose = false) : verbose_(verbose) {}

    void add_of_xen(std::string_view line);
    void add_of_dom0(std::string_view line);
    // Drops earlier messages.
    void forget() { lines_.clear(); }

    // Xen has started.
    [[nodiscard]] bool begun() const { return begun_; }
    // Xen or its first domain has failed; Xen waits before it resets the machine.
    [[nodiscard]] bool over() const { return over_; }
    // Xen ended a guest whose kernel had no usable stack for a trap's frame.
    [[nodiscard]] bool found_no_stack() const { return found_no_stack_; }
    // Prints the last lines since Xen's start, or from the first sign of trouble on.
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
