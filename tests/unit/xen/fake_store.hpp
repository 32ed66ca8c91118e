// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/xenstore.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace previrt::xen::fake {

// A xenstored with one client, which it serves while that waits.
class Store {
public:
    Store();
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    void set(const std::string& name, const std::string& value); // and tells who watches
    std::map<std::string, std::string> nodes;
    std::set<std::string> watched;
    std::unique_ptr<xenstore_domain_interface> ring = std::make_unique<xenstore_domain_interface>();
    // In place of an answer, when it is there.
    std::function<std::string(const xsd_sockmsg& question)> lie;
    bool is_silent = false;

    void say(const xsd_sockmsg& header, const std::string& text);
    void say_raw(const std::string& bytes);
    // What there is to do and room for. False: nothing.
    bool work();

private:
    void answer(const xsd_sockmsg& question, const std::string& text);

    std::string read_;
    std::deque<char> to_say_;
};

} // namespace previrt::xen::fake
