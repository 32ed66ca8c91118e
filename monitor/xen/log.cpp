// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/log.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_lines = 200;
constexpr std::size_t lines_shown = 30;

// The first lines of Xen's messages when it gives up a domain or itself; registers and stacks follow.
constexpr std::array<std::string_view, 4> troubles = {"Unhandled", "domain_crash called", "FATAL",
                                                      "Panic on CPU"};
// Its last line.
constexpr std::array<std::string_view, 2> ends = {"rebooting machine in 5 seconds", "Reboot in five seconds"};

bool says_one_of(std::string_view line, const auto& phrases) {
    return std::ranges::any_of(
        phrases, [&](std::string_view phrase) { return line.find(phrase) != std::string_view::npos; });
}

// The last line before the first domain starts.
bool starts_first_domain(std::string_view line) {
    return line.starts_with("Freed ") && line.ends_with(" init memory");
}

} // namespace

void XenLog::add_of_xen(std::string_view line) {
    begun_ = true;
    over_ = over_ || says_one_of(line, ends);
    const bool trouble_begins = since_trouble_ == 0 && says_one_of(line, troubles);
    found_no_stack_ = found_no_stack_ || line.find("domain_crash_page_fault") != std::string_view::npos;
    add("(XEN) " + std::string(line));
    since_trouble_ += trouble_begins ? 1 : 0;
    if (starts_first_domain(line)) {
        forget();
    }
}

void XenLog::add_of_dom0(std::string_view line) {
    add("(dom0) " + std::string(line));
}

void XenLog::add(std::string line) {
    if (verbose_) {
        // The terminal may be the guest's, in raw mode.
        std::cerr << line << (isatty(STDIN_FILENO) != 0 ? "\r\n" : "\n");
    }
    since_trouble_ += since_trouble_ > 0 ? 1 : 0;
    lines_.push_back(std::move(line));
    if (lines_.size() > most_lines) {
        lines_.pop_front();
    }
}

void XenLog::print_end(std::ostream& output) const {
    if (!lines_.empty()) {
        output << "previrt: the hypervisor's last lines:\n";
    }
    const std::size_t wanted = std::min(std::max(lines_shown, since_trouble_), lines_.size());
    for (std::size_t i = lines_.size() - wanted; i < lines_.size(); ++i) {
        output << lines_[i] << '\n';
    }
}

} // namespace previrt
