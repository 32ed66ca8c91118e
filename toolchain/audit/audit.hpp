// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/audit/exception_list.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/places.hpp"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace previrt {

struct AuditReport {
    struct Finding {
        Place place;
        std::string bytes;       // in hex
        std::string instruction; // disassembled; empty if the bytes do not decode
        std::string kind;        // also empty then
        std::string constant;    // the unrecorded constant that the instruction holds
        std::string reason;      // of an exception
    };
    // Bytes that nothing reaches and that count as data: as code they would hold a sensitive instruction.
    struct Doubt {
        Place place;
        std::uint64_t length;
        std::string reason; // of an exception
    };

    std::string file;
    std::uint64_t instructions = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t records = 0;
    std::map<std::string, std::uint64_t> records_by_kind;
    std::vector<Finding> unrecorded;
    std::vector<Finding> undecodable;
    std::vector<Finding> explained;
    std::vector<Doubt> doubtful;
    std::vector<Doubt> explained_doubts;

    [[nodiscard]] bool complete() const {
        return unrecorded.empty() && undecodable.empty() && doubtful.empty();
    }
};

// Compares every sensitive instruction of the file with the file's records. Throws InputError if the records
// cannot be trusted. `symbols` names addresses of a file that has no symbols of its own.
AuditReport audit(const KernelFile& file, ExceptionList& exceptions, const ElfImage* symbols = nullptr);

bool have_same_code(const ElfImage& one, const ElfImage& other);

void print_text(std::ostream& out, const AuditReport& report, const ExceptionList& exceptions);
void print_json(std::ostream& out, const AuditReport& report);

} // namespace previrt
