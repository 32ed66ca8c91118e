// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/loaded_libraries.hpp"

#include <link.h>

namespace previrt {

std::vector<std::string> loaded_libraries() {
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info* information, std::size_t /*size*/, void* list) {
            const std::string name = information->dlpi_name;
            if (name.starts_with('/')) { // neither this program nor the kernel's vDSO
                static_cast<std::vector<std::string>*>(list)->push_back(name);
            }
            return 0;
        },
        &names);
    return names;
}

} // namespace previrt
