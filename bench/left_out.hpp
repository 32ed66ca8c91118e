// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/input_error.hpp"

#include <cstdio>
#include <iostream>
#include <map>
#include <string>

namespace previrt {

// The columns of a bench that do not work on this machine, with the reasons.
class LeftOut {
public:
    // Whether the step works. If not, a peer is left out with a message; without any of previrt's own places
    // the bench fails.
    template <typename Step>
    bool try_step(const std::string& column, bool is_peer, const Step& step) {
        try {
            step();
            return true;
        } catch (const InputError& error) {
            if (!is_peer) {
                throw InputError(column + ": " + error.what());
            }
            reasons_[column] = error.what();
            std::cerr << "previrt: " << column << " is left out: " << error.what() << '\n';
            return false;
        }
    }

    // `width`: of the names.
    void print(int width) const {
        for (const auto& [column, reason] : reasons_) {
            std::printf("%-*s left out: %s\n", width, column.c_str(), reason.c_str());
        }
    }

    [[nodiscard]] const std::map<std::string, std::string>& reasons() const { return reasons_; }

private:
    std::map<std::string, std::string> reasons_;
};

} // namespace previrt
