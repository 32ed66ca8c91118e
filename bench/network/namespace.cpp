// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/namespace.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

void require(bool done, const char* what) {
    if (!done) {
        throw InputError(std::string(what) + ": " + std::generic_category().message(errno));
    }
}

ifreq request_of(const std::string& device) {
    ifreq request{};
    std::ranges::copy(device, static_cast<char*>(request.ifr_name));
    return request;
}

void bring_up(int socket, const std::string& device) {
    ifreq request = request_of(device);
    require(ioctl(socket, SIOCGIFFLAGS, &request) == 0, "SIOCGIFFLAGS");
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    require(ioctl(socket, SIOCSIFFLAGS, &request) == 0, "SIOCSIFFLAGS");
}

void set_mtu(int socket, const std::string& device, unsigned mtu) {
    ifreq request = request_of(device);
    request.ifr_mtu = static_cast<int>(mtu);
    require(ioctl(socket, SIOCSIFMTU, &request) == 0, "SIOCSIFMTU");
}

void set_address(int socket, const std::string& device, const std::string& text) {
    ifreq request = request_of(device);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    require(inet_pton(AF_INET, text.c_str(), &address.sin_addr) == 1, "an IPv4 address");
    static_assert(sizeof(address) == sizeof(request.ifr_addr));
    request.ifr_addr = std::bit_cast<sockaddr>(address);
    require(ioctl(socket, SIOCSIFADDR, &request) == 0, "SIOCSIFADDR");
    inet_pton(AF_INET, "255.255.255.0", &address.sin_addr);
    request.ifr_netmask = std::bit_cast<sockaddr>(address);
    require(ioctl(socket, SIOCSIFNETMASK, &request) == 0, "SIOCSIFNETMASK");
}

// It stays when no process has it open.
void make_tap(const std::string& name) {
    const Descriptor tap(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    require(tap.number() >= 0, "/dev/net/tun");
    ifreq request = request_of(name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    require(ioctl(tap.number(), TUNSETIFF, &request) == 0, "TUNSETIFF");
    require(ioctl(tap.number(), TUNSETPERSIST, 1) == 0, "TUNSETPERSIST");
}

} // namespace

void check_network_namespace() {
    if (geteuid() != 0) {
        throw InputError("a network of its own, with a tap device: only root may make one");
    }
}

void enter_network_namespace(const std::string& tap, const std::string& address, unsigned mtu) {
    require(unshare(CLONE_NEWNET) == 0, "a network namespace");
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    require(socket.number() >= 0, "a socket");
    bring_up(socket.number(), "lo");
    make_tap(tap);
    set_mtu(socket.number(), tap, mtu);
    set_address(socket.number(), tap, address);
    bring_up(socket.number(), tap);
}

} // namespace previrt
