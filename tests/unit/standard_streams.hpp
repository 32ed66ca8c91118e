// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdio>
#include <unistd.h>

namespace previrt {

// Standard input and output are these for as long as this lives.
class StandardStreams {
public:
    StandardStreams(const Descriptor& input, const Descriptor& output)
        : old_input_(dup(STDIN_FILENO)), old_output_(dup(STDOUT_FILENO)) {
        take(input, output);
    }
    ~StandardStreams() { take(old_input_, old_output_); }
    StandardStreams(const StandardStreams&) = delete;
    StandardStreams& operator=(const StandardStreams&) = delete;

private:
    static void take(const Descriptor& input, const Descriptor& output) {
        std::fflush(stdout); // what GoogleTest has printed belongs to the old one
        dup2(input.number(), STDIN_FILENO);
        dup2(output.number(), STDOUT_FILENO);
    }

    Descriptor old_input_;
    Descriptor old_output_;
};

} // namespace previrt
