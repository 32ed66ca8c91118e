// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <random>

namespace previrt {

// Numbers of 32 bits, the same in each run.
class RandomNumbers {
public:
    std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

private:
    std::mt19937 engine_{1}; // NOLINT(bugprone-random-generator-seed): a failure is to be seen again
};

} // namespace previrt
