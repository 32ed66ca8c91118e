// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/bridged_network.hpp"

#include "host/input_error.hpp"
#include "monitor/network/tap.hpp"

#include <fstream>

namespace previrt {

namespace {

constexpr unsigned only_mtu = 1500;

// A bridge does not pass on frames to its own cards' addresses: the machine's card must not have the guest's
// address.
MacAddress address_beside(MacAddress mac) {
    constexpr std::uint8_t other = 8;
    mac[0] ^= other;
    return mac;
}

std::string user_network(const NetworkChoice& choice) {
    std::string text = "user,id=network,ipv6=off";
    for (const PortForward& forward : choice.forwards) {
        text += std::string(",hostfwd=") + (forward.udp ? "udp" : "tcp") + ":" + forward.host_address + ":" +
                std::to_string(forward.host_port) + "-10.0.2.15:" + std::to_string(forward.guest_port);
    }
    return text;
}

} // namespace

namespace {

// The lowest port that any user may use.
unsigned first_common_port() {
    constexpr unsigned usual = 1024;
    std::ifstream setting("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    unsigned first = usual;
    return setting >> first ? first : usual;
}

void check_ports(const NetworkChoice& choice, const std::string& place) {
    const unsigned first = first_common_port();
    for (const PortForward& forward : choice.forwards) {
        if (forward.host_port < first) {
            throw InputError(
                "--net user: " + forward.text + ": --on " + place +
                " uses QEMU's user network, which gets no privileged port of this machine: take one from " +
                std::to_string(first) + " on, or tap=NAME");
        }
    }
}

} // namespace

void check_network_of_qemu(const NetworkChoice& choice, const std::string& place) {
    if (choice.kind == NetworkKind::user && !choice.host_loopback) {
        throw InputError("--net user: --on " + place +
                         " uses QEMU's user network, which lets the guest reach services on this machine's "
                         "loopback: allow "
                         "that by --net user,host-loopback, or take tap=NAME");
    }
}

void check_bridged_network(const NetworkChoice& choice, const std::string& place) {
    if (choice.kind == NetworkKind::by_switch || choice.kind == NetworkKind::interface) {
        throw InputError(
            std::string(choice.kind == NetworkKind::by_switch ? "--net switch=" : "--net interface=") +
            choice.name + ": --on " + place + " has user, tap=NAME, none");
    }
    check_network_of_qemu(choice, place);
    check_ports(choice, place);
    if (choice.mtu != only_mtu) {
        throw InputError("--net: with --on " + place + " its mtu is 1500");
    }
}

void add_bridged_card(MachineOptions& machine, const NetworkChoice& choice) {
    if (choice.kind == NetworkKind::none) {
        return;
    }
    const std::string network =
        choice.kind == NetworkKind::user
            ? user_network(choice)
            : "tap,id=network,fd=" + std::to_string(machine.hand_on(open_tap(choice.name)));
    machine.qemu.insert(machine.qemu.end(),
                        {"-netdev", network, "-device",
                         "e1000,netdev=network,romfile=,mac=" + text_of(address_beside(choice.mac))});
}

std::string xen_vif(const NetworkChoice& choice) {
    return choice.kind == NetworkKind::none ? "" : "mac=" + text_of(choice.mac) + ",script=vif-guest";
}

std::string net_in_bridge(const NetworkChoice& choice) {
    return choice.kind == NetworkKind::none ? "none" : "tap=guest,mac=" + text_of(choice.mac);
}

} // namespace previrt
