// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/terminal.hpp"
#include "monitor/nested/report.hpp"
#include "monitor/qemu/machine.hpp"

#include <chrono>
#include <deque>
#include <string>
#include <string_view>

namespace previrt {

// Separates the three speakers on the serial lines of a machine whose Linux runs previrt: the guest, previrt
// and that Linux.
class NestedConsole : public SerialFilter {
public:
    // previrt must begin within this time.
    static constexpr std::chrono::seconds begins_within{180};

    explicit NestedConsole(const RunOptions& options);

    // The first line is the guest's alone.
    std::string read(std::string_view output) override { return std::string(output); }
    std::string release() override { return {}; }
    [[nodiscard]] bool guest_is_there() const override { return report_.begun(); }
    [[nodiscard]] bool ending() const override { return report_.status().has_value(); }
    [[nodiscard]] bool over() const override { return began_too_late(); }

    void read_report(std::string_view text) { report_.read(text); }
    void read_log(std::string_view text);

    [[nodiscard]] const NestedReport& report() const { return report_; }
    // previrt or Linux has printed something.
    [[nodiscard]] bool spoke() const { return report_.begun() || !lines_.empty(); }
    // Prints the reason why previrt's status did not come back, and returns whether it is known.
    [[nodiscard]] bool say_why_it_failed() const;
    // Prints the end of Linux's messages, unless they were shown at once.
    void print_log() const;

private:
    [[nodiscard]] bool began_too_late() const;

    const RunOptions& options_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    NestedReport report_;
    ConsoleWatch watch_; // of Linux
    std::string line_;
    std::deque<std::string> lines_; // the last lines of Linux
};

} // namespace previrt
