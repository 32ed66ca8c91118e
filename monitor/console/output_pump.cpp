// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/output_pump.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/kick_signal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

void require(bool done, const char* action) {
    if (!done) {
        throw InputError(std::string(action) + ": " + std::generic_category().message(errno));
    }
}

// A descriptor that takes all writes, or refuses them: in a root without devices it is a sealed file in place
// of the device.
Descriptor make_nothing() {
    Descriptor device(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (device.number() >= 0) {
        return device;
    }
    Descriptor sealed(memfd_create("nothing", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(sealed.number() >= 0 && fcntl(sealed.number(), F_ADD_SEALS, F_SEAL_WRITE) == 0, "memfd");
    return sealed;
}

} // namespace

OutputPump::OutputPump(int descriptor)
    : output_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), nothing_(make_nothing()),
      over_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), pipe_(make_pipe()) {
    require(over_event_.number() >= 0, "eventfd");
    require(fcntl(pipe_.write.number(), F_SETFL, O_NONBLOCK) == 0, "pipe");
    if (output_.number() < 0) { // the caller had closed it
        output_ = Descriptor(fcntl(nothing_.number(), F_DUPFD_CLOEXEC, 0));
        require(output_.number() >= 0, "/dev/null");
    }
}

void OutputPump::start() {
    receive_calling_signals();
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    sigdelset(&others, calling_signal());
    pthread_sigmask(SIG_SETMASK, &others, &before); // the process's signals are for other threads
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// From now on writes go nowhere; a write in progress is interrupted.
OutputPump::~OutputPump() {
    if (!thread_.joinable()) {
        return;
    }
    dup3(nothing_.number(), output_.number(), O_CLOEXEC);
    pipe_.write.close();
    pthread_kill(thread_.native_handle(), calling_signal());
    thread_.join();
}

void OutputPump::write(std::string_view text) {
    given_ += text.size();
    held_ += text;
    push();
}

void OutputPump::end() {
    ended_ = true;
    push();
}

void OutputPump::push() {
    while (!held_.empty()) {
        const ssize_t taken = ::write(pipe_.write.number(), held_.data(), held_.size());
        if (taken < 0 && errno != EINTR) {
            return;
        }
        held_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(taken, 0)));
    }
    if (ended_) {
        pipe_.write.close();
    }
}

pollfd OutputPump::wanted() const {
    if (is_full()) {
        return {.fd = pipe_.write.number(), .events = POLLOUT, .revents = 0};
    }
    return {.fd = ended_ && !over_ ? over_event_.number() : -1, .events = POLLIN, .revents = 0};
}

void OutputPump::polled(const pollfd& poll) {
    if (poll.revents == 0) {
        return;
    }
    over_ = over_ || poll.fd == over_event_.number();
    push();
}

void OutputPump::finish(std::chrono::milliseconds within) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    end();
    while (!over_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd waiting = wanted();
        if (left.count() <= 0 || (poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)) {
            return;
        }
        polled(waiting);
    }
}

// ---- its thread

void OutputPump::run() {
    std::array<char, 4096> block{};
    ssize_t got = 0;
    while ((got = read(pipe_.read.number(), block.data(), block.size())) > 0 || (got < 0 && errno == EINTR)) {
        write_all({block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
    }
    eventfd_write(over_event_.number(), 1);
}

void OutputPump::write_all(std::string_view text) {
    while (!text.empty() && error_ == 0) {
        const ssize_t taken = ::write(output_.number(), text.data(), text.size());
        if (taken >= 0) {
            text.remove_prefix(static_cast<std::size_t>(taken));
            written_ += static_cast<std::uint64_t>(taken);
        } else if (errno == EAGAIN) { // another program has made it so
            pollfd room{.fd = output_.number(), .events = POLLOUT, .revents = 0};
            poll(&room, 1, -1);
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

} // namespace previrt
