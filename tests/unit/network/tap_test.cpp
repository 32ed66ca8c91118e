// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/tap.hpp"

#include "host/input_error.hpp"
#include "monitor/network/packet_end.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

std::string refusal(const std::string& name) {
    try {
        open_tap(name);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Tap, NamesAreChecked) {
    for (const char* name : {"", "a/b", "tap%d", "0123456789abcdef", "a b"}) {
        EXPECT_EQ(refusal(name), std::string("--net tap=") + name +
                                     ": no name of a device: at most 15 letters, digits and any of _ - .");
    }
}

// In a network of its own, of which the machine has nothing to see.
void in_own_network(const std::function<void()>& test) {
    std::string lacking;
    std::thread([&] {
        if (unshare(CLONE_NEWNET) != 0) {
            lacking = "no network namespace for this user";
        } else if (access("/dev/net/tun", R_OK | W_OK) != 0) {
            lacking = "no access to /dev/net/tun";
        } else {
            test();
        }
    }).join();
    if (!lacking.empty()) {
        GTEST_SKIP() << lacking;
    }
}

TEST(Tap, CarriesFrames) {
    in_own_network([] {
        const Descriptor tap = open_tap("previrt0");
        EXPECT_EQ(refusal("previrt0"),
                  "--net tap=previrt0: something else has it open: a device serves one guest");
        EXPECT_NE(refusal("lo").find("no tap device"), std::string::npos);
        std::array<std::uint8_t, 2048> frame{};
        EXPECT_EQ(read(tap.number(), frame.data(), frame.size()), -1);
        EXPECT_EQ(errno, EAGAIN);

        const Descriptor socket_of(socket(AF_INET, SOCK_DGRAM, 0));
        ifreq request{};
        std::strncpy(request.ifr_name, "previrt0", IFNAMSIZ - 1);
        request.ifr_flags = IFF_UP;
        ASSERT_EQ(ioctl(socket_of.number(), SIOCSIFFLAGS, &request), 0);
        const Descriptor raw(socket(AF_PACKET, SOCK_RAW, 0x0300)); // all, in network order
        std::array<std::uint8_t, 60> sent{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,
                                          0,    0,    0,    1,    0x88, 0xb5, 42};
        const PacketEnd end{.number = tap.number(), .has_headers = true};
        ASSERT_EQ(end.write(sent, {}), 70); // with its header
        for (ssize_t got = 0; got != 60 || frame[14] != 42;) {
            pollfd waiting{.fd = raw.number(), .events = POLLIN, .revents = 0};
            ASSERT_GT(poll(&waiting, 1, 5000), 0);
            got = read(raw.number(), frame.data(), frame.size());
        }
    });
}

// As QEMU leaves it, whose headers have two bytes more.
TEST(Tap, HeadersHaveTheirLengthWhoeverHadItBefore) {
    in_own_network([] {
        int bytes = 12;
        {
            const Descriptor before = open_tap("previrt0");
            ASSERT_EQ(ioctl(before.number(), TUNSETPERSIST, 1), 0);
            ASSERT_EQ(ioctl(before.number(), TUNSETVNETHDRSZ, &bytes), 0);
        }
        const Descriptor tap = open_tap("previrt0");
        ASSERT_EQ(ioctl(tap.number(), TUNGETVNETHDRSZ, &bytes), 0);
        EXPECT_EQ(bytes, 10);
    });
}

} // namespace

} // namespace previrt
