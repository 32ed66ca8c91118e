// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/privileged/devices.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace previrt {

// The accesses that exit while the monitor's own devices are in use. Where no device is, a read gives all
// ones and a write is lost, unless the guest wants it `strict`.
class OwnAccesses {
public:
    OwnAccesses(OwnDevices& devices, bool strict, std::function<std::uint64_t()> now);

    // Both do the access that exited. They throw InputError where a device is modelled only in part. False:
    // no device claims the port.
    bool access_ports(const VirtualProcessor& processor);
    void access_memory(const VirtualProcessor& processor);

private:
    void tell_of_floating(const std::string& place);

    OwnDevices& devices_;
    bool strict_;
    std::function<std::uint64_t()> now_;
    std::set<std::string> told_places_;
};

} // namespace previrt
