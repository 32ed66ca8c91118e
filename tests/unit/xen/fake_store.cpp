// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/xen/fake_store.hpp"

#include "tests/unit/xen/other_end.hpp"

#include <cstring>

namespace previrt::xen::fake {

Store::Store() {
    other_domain = [this] { return work(); };
}

Store::~Store() {
    other_domain = {};
}

void Store::say_raw(const std::string& bytes) {
    to_say_.insert(to_say_.end(), bytes.begin(), bytes.end());
}

void Store::say(const xsd_sockmsg& header, const std::string& text) {
    std::string bytes(sizeof(header), 0);
    std::memcpy(bytes.data(), &header, sizeof(header));
    say_raw(bytes + text);
}

void Store::set(const std::string& name, const std::string& value) {
    nodes[name] = value;
    if (watched.contains(name)) {
        const std::string text = name + '\0' + "watch" + '\0';
        say({.type = XS_WATCH_EVENT, .req_id = 0, .tx_id = 0, .len = static_cast<std::uint32_t>(text.size())},
            text);
        work();
    }
}

void Store::answer(const xsd_sockmsg& question, const std::string& text) {
    const std::string name = text.substr(0, text.find('\0'));
    std::string said;
    bool is_right = true;
    switch (question.type) {
    case XS_READ:
        is_right = nodes.contains(name);
        said = is_right ? nodes[name] : "";
        break;
    case XS_DIRECTORY:
        for (std::string last; const auto& [path, value] : nodes) {
            if (path.starts_with(name + "/")) {
                const std::string rest = path.substr(name.size() + 1);
                const std::string next = rest.substr(0, rest.find('/'));
                said += next != last ? next + '\0' : "";
                last = next;
            }
        }
        is_right = !said.empty();
        break;
    case XS_WRITE:
        nodes[name] = text.substr(name.size() + 1);
        said = std::string("OK") + '\0';
        break;
    case XS_WATCH:
        watched.insert(name);
        said = std::string("OK") + '\0';
        break;
    default:
        is_right = false;
    }
    if (!is_right) {
        said = std::string("ENOENT") + '\0';
    }
    xsd_sockmsg header = question;
    header.type = is_right ? question.type : std::uint32_t{XS_ERROR};
    header.len = static_cast<std::uint32_t>(said.size());
    say(header, said);
    if (question.type == XS_WATCH) {
        set(name, nodes[name]);
    }
}

bool Store::work() {
    bool worked = false;
    while (ring->req_cons != ring->req_prod) {
        read_ += ring->req[MASK_XENSTORE_IDX(ring->req_cons++)];
        worked = true;
    }
    xsd_sockmsg question{};
    if (read_.size() >= sizeof(question)) {
        std::memcpy(&question, read_.data(), sizeof(question));
        if (read_.size() >= sizeof(question) + question.len) {
            const std::string text = read_.substr(sizeof(question), question.len);
            read_.erase(0, sizeof(question) + question.len);
            if (lie) {
                say_raw(lie(question));
            } else if (!is_silent) {
                answer(question, text);
            }
        }
    }
    while (!to_say_.empty() && ring->rsp_prod - ring->rsp_cons < XENSTORE_RING_SIZE) {
        ring->rsp[MASK_XENSTORE_IDX(ring->rsp_prod)] = to_say_.front();
        to_say_.pop_front();
        ++ring->rsp_prod;
        worked = true;
    }
    return worked;
}

} // namespace previrt::xen::fake
