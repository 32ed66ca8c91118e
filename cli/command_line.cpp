// SPDX-License-Identifier: BSD-2-Clause
#include "cli/command_line.hpp"

#include "host/input_error.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <new>

namespace previrt {

int run_command_line(CLI::App& app, int argc, char** argv, const Action& action) {
    try {
        app.parse(argc, argv);
        return action();
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_input;
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
    } catch (const std::bad_alloc&) {
        std::cerr << "previrt: this machine has too little memory for it\n";
    } catch (const std::exception& error) {
        std::cerr << "previrt: internal error: " << error.what() << '\n';
    }
    return bad_input;
}

} // namespace previrt
