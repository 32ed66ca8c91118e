// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/network/packet_end.hpp"
#include "monitor/network/user_network.hpp"

#include <memory>

namespace previrt {

// The end of the cable of a guest's network card.
class NetworkEnd {
public:
    // Create it as early as UserNetwork demands. Throws InputError.
    explicit NetworkEnd(const NetworkChoice& choice);

    [[nodiscard]] PacketEnd packets() const;
    [[nodiscard]] pid_t process() const { return user_ ? user_->process() : 0; } // its own; 0: none
    // As UserNetwork's.
    [[nodiscard]] std::string lacking() const { return user_ ? user_->lacking() : ""; }

private:
    Descriptor end_;
    bool has_headers_ = false;
    std::unique_ptr<UserNetwork> user_;
};

} // namespace previrt
