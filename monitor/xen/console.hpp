// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/line_sieve.hpp"
#include "monitor/console/vmm_console.hpp"
#include "monitor/qemu/machine.hpp"
#include "monitor/xen/log.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace previrt {

// The first domain of Xen: the guest, or a Linux that starts the guest's domain (dom0-init).
enum class FirstDomain : std::uint8_t { guest, dom0 };

// The serial line of a machine under Xen. Xen, its first domain, the guest's VMM and the guest share it.
class XenConsole : public SerialFilter {
public:
    XenConsole(FirstDomain first, bool verbose);

    std::string read(std::string_view output) override;
    std::string release() override;
    [[nodiscard]] bool guest_is_there() const override { return guest_speaks_; }
    [[nodiscard]] bool ending() const override { return vmm_.end().has_value(); }
    [[nodiscard]] bool over() const override { return log_.over() || domain_end_.has_value(); }

    [[nodiscard]] const XenLog& log() const { return log_; }
    [[nodiscard]] const VmmConsole& vmm() const { return vmm_; }
    // The end of the guest's domain in dom0's words: Xen's reason, a number, or other text.
    [[nodiscard]] const std::optional<std::string>& domain_end() const { return domain_end_; }

private:
    void read_of_dom0(std::string_view line);
    std::string without_added_return(char character);
    void add_to_log(char character);

    FirstDomain first_;
    bool guest_speaks_ = false;
    bool held_return_ = false;
    std::optional<std::string> domain_end_;
    std::string line_of_others_;
    XenLog log_;
    LineSieve xen_;
    LineSieve dom0_;
    VmmConsole vmm_;
};

} // namespace previrt
