// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_slide: a kernel that can be moved, with each list of fields.
#include "host/file.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/unit/make_linux.hpp"

namespace previrt {

namespace {

void write_seed(const std::string& path, const LinuxRelocations& relocations) {
    std::vector<std::uint8_t> bytes = make_linux(linux_sample);
    const std::vector<std::uint8_t> table = make_relocation_table(relocations);
    bytes.insert(bytes.end(), table.begin(), table.end());
    write_file(path, bytes);
}

} // namespace

void write_seeds(const std::string& directory) {
    write_seed(directory + "/all", linux_sample_relocations);
    write_seed(directory + "/none", {});
    write_seed(directory + "/inverse", {.full_64 = {}, .inverse_32 = {linux_text}, .signed_32 = {}});
}

} // namespace previrt
