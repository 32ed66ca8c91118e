// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/site_kinds.hpp"
#include "previrt/site_record.hpp"
#include "toolchain/llvm/llvm_target.hpp"

#include <llvm/MC/MCInst.h>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace previrt {

// The contents of a record without the site's address.
struct SiteForm {
    SiteKind kind;
    Shape shape;
    unsigned width;
    std::uint8_t operand;

    friend bool operator==(const SiteForm&, const SiteForm&) = default;
};

// Classifies every sensitive instruction by LLVM's opcode.
class SiteClassifier {
public:
    explicit SiteClassifier(const LlvmTarget& target);

    // nullopt: the instruction is not sensitive.
    [[nodiscard]] std::optional<SiteForm> classify(const llvm::MCInst& instruction) const;

    // The form of an instruction that the guest annotated as `kind`; nullopt: it is none of that kind.
    [[nodiscard]] std::optional<SiteForm> classify_annotated(SiteKind kind,
                                                             const llvm::MCInst& instruction) const;

private:
    struct Row {
        SiteKind kind;
        Shape shape;
        unsigned width;
        int system_register; // fixed by the opcode, or -1
    };

    [[nodiscard]] std::uint8_t operand(const Row& row, const llvm::MCInst& instruction) const;

    const LlvmTarget& target_;
    std::unordered_map<unsigned, Row> sensitive_;
    std::map<std::pair<SiteKind, unsigned>, Row> annotated_;
};

} // namespace previrt
