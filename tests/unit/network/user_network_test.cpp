// SPDX-License-Identifier: BSD-2-Clause
// The network of a guest, by frames that the test makes as a guest would.
#include "monitor/network/user_network.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/unit/network/frames.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <seccomp.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;

using Address = std::array<std::uint8_t, 4>;
constexpr Address gateway = {10, 0, 2, 2};
constexpr Address guest = {10, 0, 2, 15};
constexpr std::uint16_t type_ip = 0x0800;
constexpr std::uint16_t type_arp = 0x0806;
constexpr std::uint8_t icmp = 1;
constexpr std::uint8_t tcp = 6;
constexpr std::uint8_t udp = 17;
constexpr std::size_t ip_start = 14;
constexpr std::size_t transport_start = 34;

std::uint16_t word_at(const Bytes& frame, std::size_t offset) {
    return offset + 2 <= frame.size() ? static_cast<std::uint16_t>(frame[offset] << 8U | frame[offset + 1])
                                      : 0;
}

void append(Bytes& frame, std::span<const std::uint8_t> bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
}

void append_word(Bytes& frame, std::size_t word) {
    frame.push_back(static_cast<std::uint8_t>(word >> 8U));
    frame.push_back(static_cast<std::uint8_t>(word));
}

std::uint16_t checksum(std::span<const std::uint8_t> bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
    }
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(~sum);
}

void set_word(Bytes& frame, std::size_t offset, std::uint16_t word) {
    frame[offset] = static_cast<std::uint8_t>(word >> 8U);
    frame[offset + 1] = static_cast<std::uint8_t>(word);
}

Bytes ethernet(const MacAddress& to, const MacAddress& from, std::uint16_t type) {
    Bytes frame;
    append(frame, to);
    append(frame, from);
    append_word(frame, type);
    return frame;
}

Bytes udp_content(std::uint16_t from, std::uint16_t to, std::span<const std::uint8_t> content) {
    Bytes message;
    append_word(message, from);
    append_word(message, to);
    append_word(message, 8 + content.size());
    append_word(message, 0); // not summed
    append(message, content);
    return message;
}

std::uint16_t free_port(int type) {
    const Descriptor socket_of(socket(AF_INET, type, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(socket_of.number(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    getsockname(socket_of.number(), reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.sin_port);
}

class Network : public testing::Test {
protected:
    void start(const std::string& parts = "") {
        choice_ = parse_network("user" + parts);
        network_.emplace(choice_);
    }
    void give(const Bytes& frame) { ASSERT_TRUE(send_frame(network_->end(), frame)); }
    void give_ip(const Address& from, const Address& to, std::uint8_t protocol, const Bytes& content) {
        Bytes frame = ethernet(gateway_mac_, choice_.mac, type_ip);
        append(frame, std::array<std::uint8_t, 2>{0x45, 0});
        append_word(frame, 20 + content.size());
        append(frame, std::array<std::uint8_t, 8>{0, 1, 0, 0, 64, protocol, 0, 0});
        append(frame, from);
        append(frame, to);
        set_word(frame, 24, checksum(std::span(frame).subspan(ip_start, 20)));
        append(frame, content);
        give(frame);
    }
    // Asks for one.
    void give_connection(const Address& to, std::uint16_t port) {
        Bytes begin;
        append_word(begin, 1024);
        append_word(begin, port);
        append(begin, std::array<std::uint8_t, 16>{0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0});
        Bytes summed; // with the pseudo header
        append(summed, guest);
        append(summed, to);
        append(summed, std::array<std::uint8_t, 4>{0, tcp, 0, 20});
        append(summed, begin);
        set_word(begin, 16, checksum(summed));
        give_ip(guest, to, tcp, begin);
    }
    // Answers those who look for the guest.
    Bytes take(const std::function<bool(const Bytes&)>& is_awaited) {
        for (Bytes frame = take_frame(network_->end()); !frame.empty(); frame = take_frame(network_->end())) {
            EXPECT_GE(frame.size(), ip_start);
            if (is_awaited(frame)) {
                return frame;
            }
            if (word_at(frame, 12) == type_arp && frame.size() >= 42 && frame[21] == 1 &&
                std::equal(guest.begin(), guest.end(), frame.begin() + 38)) {
                give_arp(2, guest);
            }
        }
        ADD_FAILURE() << "nothing comes";
        return {};
    }
    static bool is_ip(const Bytes& frame, std::uint8_t protocol) {
        return word_at(frame, 12) == type_ip && frame.size() >= transport_start && frame[23] == protocol;
    }
    void give_arp(std::uint8_t operation, const Address& from, const Address& to = gateway) {
        Bytes frame = ethernet({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, choice_.mac, type_arp);
        append(frame, std::array<std::uint8_t, 8>{0, 1, 8, 0, 6, 4, 0, operation});
        append(frame, choice_.mac);
        append(frame, from);
        append(frame, MacAddress{});
        append(frame, to);
        frame.resize(60);
        give(frame);
    }
    void find_gateway() {
        give_arp(1, guest);
        const Bytes answer = take([](const Bytes& frame) {
            return word_at(frame, 12) == type_arp && frame.size() >= 42 && frame[21] == 2;
        });
        ASSERT_GE(answer.size(), 42U);
        EXPECT_TRUE(std::equal(gateway.begin(), gateway.end(), answer.begin() + 28));
        std::copy_n(answer.begin() + 22, gateway_mac_.size(), gateway_mac_.begin());
    }

    NetworkChoice choice_;
    std::optional<UserNetwork> network_;
    MacAddress gateway_mac_ = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
};

TEST_F(Network, GivesAnAddress) {
    start();
    Bytes request = {1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78};
    request.resize(28);
    append(request, choice_.mac);
    request.resize(236);
    append(request, std::array<std::uint8_t, 8>{99, 130, 83, 99, 53, 1, 1, 255}); // DISCOVER
    give_ip({0, 0, 0, 0}, {255, 255, 255, 255}, udp, udp_content(68, 67, request));
    const Bytes offer = take(
        [](const Bytes& frame) { return is_ip(frame, udp) && word_at(frame, transport_start + 2) == 68; });
    constexpr std::size_t message = transport_start + 8;
    ASSERT_GT(offer.size(), message + 240);
    EXPECT_TRUE(std::equal(guest.begin(), guest.end(), offer.begin() + message + 16)); // yiaddr
    const Bytes name_server = {6, 4, 10, 0, 2, 3};
    EXPECT_FALSE(std::ranges::search(offer, name_server).empty());
}

TEST_F(Network, AnswersAnEcho) {
    start(",mtu=9000");
    find_gateway();
    for (const std::size_t bytes : {8U, 64U, 1480U, 8980U}) {
        Bytes echo = make_numbered_frame(1, bytes);
        std::ranges::copy(Bytes{8, 0, 0, 0, 0x12, 0x34, 0, 1}, echo.begin());
        set_word(echo, 2, checksum(echo));
        give_ip(guest, gateway, icmp, echo);
        const Bytes answer = take([](const Bytes& frame) { return is_ip(frame, icmp); });
        ASSERT_GE(answer.size(), transport_start + bytes);
        EXPECT_EQ(answer[transport_start], 0); // an echo reply
        EXPECT_TRUE(std::equal(echo.begin() + 4, echo.end(), answer.begin() + transport_start + 4));
    }
}

TEST_F(Network, ForwardsDatagrams) {
    const std::uint16_t port = free_port(SOCK_DGRAM);
    start(",udp=" + std::to_string(port) + ":53");
    find_gateway();
    const Descriptor outside(socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(outside.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(outside.number(), "question", 8, 0), 8);
    const Bytes question = take(
        [](const Bytes& frame) { return is_ip(frame, udp) && word_at(frame, transport_start + 2) == 53; });
    ASSERT_GE(question.size(), transport_start + 16);
    EXPECT_EQ(std::memcmp(&question[transport_start + 8], "question", 8), 0);
    const Bytes answer = {'a', 'n', 's', 'w', 'e', 'r'};
    give_ip(guest, {question[26], question[27], question[28], question[29]}, udp,
            udp_content(53, word_at(question, transport_start), answer));
    EXPECT_EQ(take_frame(outside.number()), answer);
}

TEST_F(Network, ForwardsConnections) {
    const std::uint16_t port = free_port(SOCK_STREAM);
    start(",tcp=127.0.0.1:" + std::to_string(port) + ":80");
    find_gateway();
    const Descriptor outside(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(outside.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const Bytes begin = take([](const Bytes& frame) { return is_ip(frame, tcp); });
    ASSERT_GE(begin.size(), transport_start + 20);
    EXPECT_EQ(word_at(begin, transport_start + 2), 80);
    constexpr std::uint8_t syn = 2;
    EXPECT_EQ(begin[transport_start + 13], syn);
}

// How a guest gets to a service of this machine, where it may: through 10.0.2.2. Where it may not, by no
// name.
TEST_F(Network, OpensConnectionsToThisMachineWhereAsked) {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(listener.number(), 1), 0);
    getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length);
    pollfd waiting{.fd = listener.number(), .events = POLLIN, .revents = 0};
    start();
    find_gateway();
    for (const Address& to : {gateway, Address{127, 0, 0, 1}, Address{127, 1, 2, 3}, Address{0, 0, 0, 0},
                              Address{255, 255, 255, 255}}) {
        give_connection(to, ntohs(address.sin_port));
    }
    EXPECT_EQ(poll(&waiting, 1, 500), 0) << "the guest reached this machine's loopback";
    network_.reset();

    start(",host-loopback");
    find_gateway();
    give_connection(gateway, ntohs(address.sin_port));
    const Bytes answer = take([](const Bytes& frame) { return is_ip(frame, tcp); });
    ASSERT_GE(answer.size(), transport_start + 20);
    constexpr std::uint8_t syn_and_ack = 0x12;
    EXPECT_EQ(answer[transport_start + 13], syn_and_ack);
    EXPECT_EQ(poll(&waiting, 1, 5000), 1);
}

// On a machine without Landlock.
TEST_F(Network, TellsWhatDoesNotKeepItFromThisMachine) {
    const pid_t without = fork();
    if (without == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        bool told =
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0) == 0 &&
            seccomp_load(filter) == 0;
        try {
            start();
            told = told && network_->lacking() == "Landlock: Function not implemented";
        } catch (const InputError& error) {
            std::fputs(error.what(), stderr);
            told = false;
        }
        network_.reset();
        _exit(told ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(without, &status, 0), without);
    EXPECT_EQ(status, 0);
}

TEST_F(Network, APortInUseIsNamed) {
    const Descriptor taken(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(taken.number(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(taken.number(), 1), 0);
    getsockname(taken.number(), reinterpret_cast<sockaddr*>(&address), &length);
    const std::string port = std::to_string(ntohs(address.sin_port));
    try {
        start(",tcp=" + port + ":80");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.what(), "--net user: tcp=" + port + ":80: port " + port +
                                    " of 127.0.0.1: Address already in use; choose another");
    }
}

// A guest that sends without reading what it gets: everything waits, and goes on when it reads.
TEST_F(Network, WaitsForAGuestThatDoesNotRead) {
    start();
    find_gateway();
    Bytes echo = make_numbered_frame(1, 1400);
    std::ranges::copy(Bytes{8, 0, 0, 0, 0x12, 0x34, 0, 1}, echo.begin());
    set_word(echo, 2, 0);
    set_word(echo, 2, checksum(echo));
    Bytes frame = ethernet(gateway_mac_, choice_.mac, type_ip);
    append(frame, std::array<std::uint8_t, 2>{0x45, 0});
    append_word(frame, 20 + echo.size());
    append(frame, std::array<std::uint8_t, 8>{0, 1, 0, 0, 64, icmp, 0, 0});
    append(frame, guest);
    append(frame, gateway);
    set_word(frame, 24, checksum(std::span(frame).subspan(ip_start, 20)));
    append(frame, echo);
    std::uint32_t sent = 0;
    pollfd waiting{.fd = network_->end(), .events = POLLOUT, .revents = 0};
    do {
        while (send_frame(network_->end(), frame)) {
            ++sent;
        }
    } while (poll(&waiting, 1, 300) > 0);
    EXPECT_GT(sent, 100U);
    for (std::uint32_t i = 0; i < sent; ++i) {
        ASSERT_EQ(take_frame(network_->end()).size(), frame.size()) << i << " of " << sent;
    }
}

TEST_F(Network, SurvivesWhatIsNoFrame) {
    start();
    find_gateway();
    pollfd waiting{.fd = network_->end(), .events = POLLOUT, .revents = 0};
    for (std::uint32_t i = 1; i < 10000; ++i) {
        Bytes frame = make_numbered_frame(i, 1 + (i * 7919 % 2000));
        if (frame.size() > 40) { // as far as the headers go, it looks like one
            const Bytes header = ethernet(gateway_mac_, choice_.mac, i % 4 == 0 ? type_arp : type_ip);
            std::ranges::copy(header, frame.begin());
            frame[14] = i % 3 == 0 ? frame[14] : 0x45;
            set_word(frame, 16, static_cast<std::uint16_t>(frame.size() - ip_start - (i % 5)));
            frame[23] = std::array<std::uint8_t, 4>{icmp, tcp, udp, frame[23]}.at(i % 4);
            if (i % 8 != 0) {
                set_word(frame, 20, 0); // no fragment
            }
            if (i % 2 != 0) {
                std::ranges::copy(guest, frame.begin() + 26);
                std::ranges::copy(gateway, frame.begin() + 30);
            }
            set_word(frame, 24, 0);
            set_word(frame, 24, checksum(std::span(frame).subspan(ip_start, 20)));
        }
        while (!send_frame(network_->end(), frame)) {
            ASSERT_GT(poll(&waiting, 1, 20000), 0);
            ASSERT_EQ(waiting.revents, POLLOUT) << "it has ended";
        }
        Bytes ignored(9000);
        while (recv(network_->end(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
        }
    }
    find_gateway();
}

std::string line_of(pid_t process, const std::string& name) {
    const std::string text = read_text("/proc/" + std::to_string(process) + "/status");
    const std::size_t start = text.find("\n" + name + ":") + 1;
    return text.substr(start, text.find('\n', start) - start);
}

TEST_F(Network, IsKeptFromThisMachine) {
    start();
    const pid_t process = network_->process();
    EXPECT_EQ(line_of(process, "Seccomp"), "Seccomp:\t2");
    EXPECT_EQ(line_of(process, "NoNewPrivs"), "NoNewPrivs:\t1");
    EXPECT_EQ(line_of(process, "CapEff"), "CapEff:\t0000000000000000");
    EXPECT_NE(line_of(process, "Uid").substr(0, 6), "Uid:\t0");
    std::size_t open_files = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
        const std::string target = std::filesystem::read_symlink(file).string();
        EXPECT_TRUE(target == "/dev/null" || target.starts_with("socket:") || target == "/dev/urandom")
            << target;
        ++open_files;
    }
    EXPECT_LE(open_files, 5U);
}

TEST_F(Network, EndsWithItsGuest) {
    start();
    const pid_t process = network_->process();
    network_.reset();
    EXPECT_EQ(kill(process, 0), -1);
}

TEST_F(Network, EndsWithItsMonitor) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    const pid_t monitor = fork();
    if (monitor == 0) {
        const UserNetwork network(parse_network("user"));
        const pid_t process = network.process();
        _exit(write(write_end.number(), &process, sizeof process) == sizeof process ? 0 : 1);
    }
    write_end.close();
    waitpid(monitor, nullptr, 0);
    pid_t process = 0;
    ASSERT_EQ(read(read_end.number(), &process, sizeof process), static_cast<ssize_t>(sizeof process));
    const auto has_ended = [&] { // or is for somebody else to wait for
        std::error_code absent;
        return !std::filesystem::exists("/proc/" + std::to_string(process), absent) ||
               line_of(process, "State").starts_with("State:\tZ");
    };
    for (int i = 0; i < 1000 && !has_ended(); ++i) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(has_ended());
}

} // namespace

} // namespace previrt
