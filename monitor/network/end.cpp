// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/end.hpp"

#include "monitor/network/interface.hpp"
#include "monitor/network/switch/end.hpp"
#include "monitor/network/tap.hpp"

namespace previrt {

NetworkEnd::NetworkEnd(const NetworkChoice& choice) {
    switch (choice.kind) {
    case NetworkKind::none:
        break;
    case NetworkKind::user:
        user_ = std::make_unique<UserNetwork>(choice);
        break;
    case NetworkKind::tap:
        end_ = open_tap(choice.name);
        has_headers_ = true;
        break;
    case NetworkKind::interface:
        end_ = open_interface(choice.name);
        has_headers_ = true;
        break;
    case NetworkKind::by_switch:
        end_ = connect_to_switch(choice.name);
        break;
    }
}

PacketEnd NetworkEnd::packets() const {
    return {.number = user_ ? user_->end() : end_.number(), .has_headers = has_headers_};
}

} // namespace previrt
