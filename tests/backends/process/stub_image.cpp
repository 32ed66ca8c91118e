// SPDX-License-Identifier: BSD-2-Clause
#include "tests/backends/process/stub_image.hpp"

#include "backends/process/contract/layout.hpp"

#include <array>
#include <cstdio>
#include <iomanip>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace previrt::process {

namespace {

std::string output_of(const std::string& command) {
    constexpr std::size_t chunk = 4096;
    const auto close = [](std::FILE* file) { pclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> output(popen(command.c_str(), "r"), close);
    if (!output) {
        throw std::runtime_error(command + " does not start");
    }
    std::string text;
    std::array<char, chunk> part{};
    for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), output.get())) != 0;) {
        text.append(part.data(), got);
    }
    return text;
}

std::uint64_t number(const std::string& text) {
    constexpr int hexadecimal = 16;
    return std::stoull(text, nullptr, hexadecimal);
}

std::string in_hexadecimal(std::uint64_t value) {
    std::ostringstream text;
    text << "0x" << std::hex << value;
    return text.str();
}

} // namespace

std::string StubImage::name(std::uint64_t address) const {
    std::string nearest;
    for (const auto& [symbol, place] : symbols) {
        if (place <= address && (nearest.empty() || place > at(nearest))) {
            nearest = symbol;
        }
    }
    const auto instruction = instructions.find(address);
    return nearest + "+" + in_hexadecimal(address - at(nearest)) + " (" +
           (instruction == instructions.end() ? "no instruction of its own" : instruction->second) + ")";
}

StubImage read_stub(const std::string& vmm) {
    StubImage stub;
    std::map<std::string, std::uint64_t> linked;
    std::istringstream symbols(output_of("nm '" + vmm + "'"));
    for (std::string address, kind, name; symbols >> address >> kind >> name;) {
        if (name.starts_with("user_stub") && kind != "A") { // an offset
            linked[name] = number(address);
        }
    }
    const std::uint64_t begin = linked.at("user_stub");
    const std::uint64_t end = linked.at("user_stub_left");
    for (const auto& [name, address] : linked) {
        stub.symbols[name] = address - begin + user_stub_address;
    }
    std::istringstream lines(
        output_of("objdump -D --no-show-raw-insn --start-address=" + in_hexadecimal(begin) +
                  " --stop-address=" + in_hexadecimal(end) + " '" + vmm + "'"));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(":\t");
        if (line.starts_with(" ") && colon != std::string::npos) {
            stub.instructions[number(line.substr(0, colon)) - begin + user_stub_address] =
                line.substr(colon + 2);
        }
    }
    if (stub.instructions.empty()) {
        throw std::runtime_error("objdump shows no instructions of the stub in " + vmm);
    }
    return stub;
}

} // namespace previrt::process
