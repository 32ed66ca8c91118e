// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/console.hpp"

#include <utility>
#include <vector>

namespace previrt {

namespace {

constexpr const char* xen_mark = "(XEN) ";
constexpr const char* dom0_mark = "previrt-dom0: "; // of dom0-init
constexpr std::string_view says_begin = "guest begins";
constexpr std::string_view says_end = "guest ended: ";
constexpr std::size_t longest_line = 4096;

} // namespace

XenConsole::XenConsole(FirstDomain first, bool verbose)
    : first_(first), log_(verbose), xen_({xen_mark},
                                         [this](const std::string& /*mark*/, std::string_view line) {
                                             guest_speaks_ = guest_speaks_ || first_ == FirstDomain::guest;
                                             log_.add_of_xen(line);
                                         }),
      dom0_(first == FirstDomain::dom0 ? std::vector<std::string>{dom0_mark} : std::vector<std::string>{},
            [this](const std::string& /*mark*/, std::string_view line) { read_of_dom0(line); }) {}

void XenConsole::read_of_dom0(std::string_view line) {
    if (line == says_begin) {
        guest_speaks_ = true;
        log_.forget();
    } else if (line.starts_with(says_end)) {
        guest_speaks_ = false;
        domain_end_ = domain_end_.value_or(std::string(line.substr(says_end.size())));
    } else {
        log_.add_of_dom0(line);
    }
}

// Xen puts a carriage return before each line feed.
std::string XenConsole::without_added_return(char character) {
    std::string result;
    if (std::exchange(held_return_, character == '\r') && character != '\n') {
        result = "\r";
    }
    if (character != '\r') {
        result += character;
    }
    return result;
}

// Messages of the firmware, and of dom0's kernel: neither has a mark.
void XenConsole::add_to_log(char character) {
    if (character != '\n' && character != '\r' && line_of_others_.size() < longest_line) {
        line_of_others_ += character;
    } else if (character == '\n' && !line_of_others_.empty()) {
        log_.add_of_dom0(std::exchange(line_of_others_, {}));
    }
}

std::string XenConsole::read(std::string_view output) {
    std::string guest;
    for (const char character : output) {
        for (const char of_domain : xen_.read({&character, 1})) {
            for (const char left : dom0_.read(without_added_return(of_domain))) {
                if (guest_speaks_) {
                    guest += left;
                } else {
                    add_to_log(left);
                }
            }
        }
    }
    return vmm_.read(guest);
}

std::string XenConsole::release() {
    std::string guest;
    for (const char of_domain : xen_.release()) {
        guest += dom0_.read(without_added_return(of_domain));
    }
    guest = vmm_.read(guest + dom0_.release());
    return (guest_speaks_ ? guest : "") + vmm_.release();
}

} // namespace previrt
