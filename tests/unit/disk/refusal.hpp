// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/input_error.hpp"
#include "monitor/disk/disk_file.hpp"

#include <string>

namespace previrt {

// The message of a disk that is refused; empty: it is taken.
inline std::string refusal_of(const DiskChoice& choice) {
    try {
        const DiskFile file(choice);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

} // namespace previrt
