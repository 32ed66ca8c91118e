// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/tap.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <system_error>

namespace previrt {

namespace {

// The kernel would take a % in it for a pattern.
bool can_be_name(const std::string& name) {
    return !name.empty() && name.size() < IFNAMSIZ &&
           std::ranges::all_of(
               name,
               [](unsigned char character) {
                   return std::isalnum(character) != 0 || character == '_' || character == '-' ||
                          character == '.';
               });
}

[[noreturn]] void refuse(const std::string& name, const std::string& reason) {
    throw InputError("--net tap=" + name + ": " + reason);
}

std::string why_no_device(const std::string& name, int error) {
    const std::string remedy =
        " (as root: ip tuntap add " + name + " mode tap user $USER; ip link set " + name + " up)";
    switch (error) {
    case EPERM:
        return if_nametoindex(name.c_str()) == 0
                   ? "there is no such device, and only root may make one" + remedy
                   : "it is not this user's" + remedy;
    case EBUSY:
        return "something else has it open: a device serves one guest";
    case EINVAL:
        return "it is a device, but no tap device of one queue" + remedy;
    default:
        return std::generic_category().message(error);
    }
}

} // namespace

Descriptor open_tap(const std::string& name) {
    constexpr const char* const place = "/dev/net/tun";
    if (!can_be_name(name)) {
        refuse(name, "no name of a device: at most 15 letters, digits and any of _ - .");
    }
    Descriptor tap(open(place, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (tap.number() < 0) {
        refuse(name, std::string(place) + ": " + std::generic_category().message(errno) +
                         (errno == ENOENT || errno == ENODEV ? " (as root: modprobe tun)" : ""));
    }
    ifreq request{};
    std::ranges::copy(name, static_cast<char*>(request.ifr_name));
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    if (ioctl(tap.number(), TUNSETIFF, &request) != 0) {
        refuse(name, why_no_device(name, errno));
    }
    // The previous owner may have set a longer header.
    constexpr int header_bytes = 10;
    if (ioctl(tap.number(), TUNSETVNETHDRSZ, &header_bytes) != 0) {
        refuse(name, "TUNSETVNETHDRSZ: " + std::generic_category().message(errno));
    }
    // A packet that is read may be merged, or lack a checksum.
    if (ioctl(tap.number(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) {
        refuse(name, "TUNSETOFFLOAD: " + std::generic_category().message(errno));
    }
    return tap;
}

} // namespace previrt
