// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace previrt::oci {

// A file of JSON. Throws InputError: the message names the file.
nlohmann::json read_json(const std::string& path);
void write_json(const std::string& path, const nlohmann::json& json);

// config.json of a bundle. Warns of each field that has no effect, by name. Throws InputError if a field is
// not of its kind, is missing, or is not supported and cannot be left out.
nlohmann::json read_configuration(const std::string& bundle);
// Whether the host's runtime gives the container a namespace of this type.
bool has_namespace(const nlohmann::json& config, const std::string& type);
// The same as read_configuration() for a process, of config.json or of `exec`.
void check_process(const nlohmann::json& process);

} // namespace previrt::oci
