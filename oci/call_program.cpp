// SPDX-License-Identifier: BSD-2-Clause
#include "oci/call_program.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <utility>

namespace previrt::oci {

CallArgument CallProgram::data(std::string_view bytes) {
    constexpr std::size_t alignment = 8;
    process_.data.resize((process_.data.size() + alignment - 1) / alignment * alignment);
    const std::uint64_t place = process_.data.size();
    process_.data += bytes;
    return {.kind = agent::ArgumentKind::data, .value = place};
}

CallArgument CallProgram::text(const std::string& text) {
    return data({text.c_str(), text.size() + 1});
}

std::uint64_t CallProgram::call(std::string purpose, long call, std::initializer_list<CallArgument> arguments,
                                std::initializer_list<int> ignored) {
    agent::SystemCall made{};
    made.number = static_cast<std::uint32_t>(call);
    unsigned place = 0;
    for (const CallArgument& argument : arguments) {
        made.arguments[place] = argument.value;
        made.kinds |= static_cast<std::uint32_t>(argument.kind) << (agent::argument_kind_bits * place);
        ++place;
    }
    place = 0;
    for (const int error : ignored) {
        made.ignored[place++] = static_cast<std::uint16_t>(error);
    }
    process_.calls.push_back(made);
    process_.purposes.push_back(std::move(purpose));
    return process_.calls.size() - 1;
}

void CallProgram::make_directories(const std::string& path) {
    constexpr mode_t mode = 0755;
    for (std::size_t at = 1; at != std::string::npos && at < path.size();) {
        at = path.find('/', at);
        const std::string part = path.substr(0, at);
        if (!part.ends_with('/')) {
            call("mkdir " + part, SYS_mkdir, {text(part), number(mode)}, {EEXIST, EROFS, EACCES, ENOTDIR});
        }
        at = at == std::string::npos ? at : at + 1;
    }
}

void CallProgram::write_file(const std::string& purpose, const std::string& path, const std::string& content,
                             std::initializer_list<int> ignored) {
    const std::uint64_t file = call(
        purpose, SYS_openat,
        {number(static_cast<std::uint64_t>(AT_FDCWD)), text(path), number(O_WRONLY | O_CLOEXEC)}, ignored);
    const bool may_fail = ignored.size() != 0;
    call(purpose, SYS_write, {result_of(file), data(content), number(content.size())},
         may_fail ? std::initializer_list<int>{EBADF, EINVAL, ENOENT, EBUSY} : std::initializer_list<int>{});
    call(purpose, SYS_close, {result_of(file)}, {EBADF});
}

void CallProgram::mount(const std::string& purpose, const std::string& source, const std::string& place,
                        const std::string& type, unsigned long flags, const std::string& options,
                        std::initializer_list<int> ignored) {
    call(purpose, SYS_mount,
         {text(source), text(place), text(type), number(flags), options.empty() ? number(0) : text(options)},
         ignored);
}

} // namespace previrt::oci
