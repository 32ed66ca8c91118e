// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/audit/audit.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace previrt {

namespace {

nlohmann::json to_json(const Place& place) {
    nlohmann::json json{{"section", place.section}, {"offset", place.offset}};
    if (place.symbol) {
        json["symbol"] = *place.symbol;
        json["symbol_offset"] = place.symbol_offset;
    }
    return json;
}

nlohmann::json to_json(const std::vector<AuditReport::Finding>& findings) {
    nlohmann::json list = nlohmann::json::array();
    for (const AuditReport::Finding& finding : findings) {
        nlohmann::json json = to_json(finding.place);
        json["bytes"] = finding.bytes;
        if (!finding.kind.empty()) {
            json["kind"] = finding.kind;
            json["instruction"] = finding.instruction;
        }
        if (!finding.constant.empty()) {
            json["constant"] = finding.constant;
        }
        if (!finding.reason.empty()) {
            json["reason"] = finding.reason;
        }
        list.push_back(std::move(json));
    }
    return list;
}

nlohmann::json to_json(const std::vector<AuditReport::Doubt>& doubts) {
    nlohmann::json list = nlohmann::json::array();
    for (const AuditReport::Doubt& doubt : doubts) {
        nlohmann::json json = to_json(doubt.place);
        json["length"] = doubt.length;
        if (!doubt.reason.empty()) {
            json["reason"] = doubt.reason;
        }
        list.push_back(std::move(json));
    }
    return list;
}

} // namespace

void print_text(std::ostream& out, const AuditReport& report, const ExceptionList& exceptions) {
    for (const AuditReport::Finding& finding : report.unrecorded) {
        out << report.file << ": " << finding.place.text() << ": " << finding.bytes << ": "
            << finding.instruction << ": ";
        if (finding.constant.empty()) {
            out << "sensitive (" << finding.kind << ") and not recorded\n";
        } else {
            out << "holds " << finding.constant
                << " or a number near it, and is not recorded; annotate it (previrt_layout_constant), or say "
                   "in "
                   "the exceptions why it may stay\n";
        }
    }
    for (const AuditReport::Finding& finding : report.undecodable) {
        out << report.file << ": " << finding.place.text() << ": " << finding.bytes
            << ": reached as code, but not an instruction that LLVM 19 knows\n";
    }
    for (const AuditReport::Finding& finding : report.explained) {
        out << report.file << ": " << finding.place.text() << ": " << finding.bytes << ": "
            << finding.instruction << ": exception: " << finding.reason << '\n';
    }
    for (const AuditReport::Doubt& doubt : report.doubtful) {
        out << report.file << ": " << doubt.place.text() << ": " << doubt.length
            << " bytes that no instruction leads to would hold a sensitive instruction if they were code; "
               "say "
               "in the exceptions why they are data (PLACE "
            << data_kind << " REASON)\n";
    }
    for (const AuditReport::Doubt& doubt : report.explained_doubts) {
        out << report.file << ": " << doubt.place.text() << ": " << doubt.length
            << " bytes of data: exception: " << doubt.reason << '\n';
    }
    for (const ExceptionList::Entry& entry : exceptions.entries()) {
        if (entry.uses == 0) {
            out << report.file << ": note: the exception of line " << entry.line << " (" << entry.place << ' '
                << entry.kind << ") explains nothing here\n";
        }
    }
    out << report.file << ": " << (report.complete() ? "complete" : "INCOMPLETE") << ": "
        << report.instructions << " instructions, " << report.records << " recorded, "
        << report.unrecorded.size() + report.undecodable.size() << " missing, " << report.doubtful.size()
        << " doubtful, " << report.explained.size() + report.explained_doubts.size() << " explained; "
        << report.data_bytes << " bytes are data or padding\n";
}

void print_json(std::ostream& out, const AuditReport& report) {
    const nlohmann::json json{{"file", report.file},
                              {"complete", report.complete()},
                              {"instructions", report.instructions},
                              {"data_bytes", report.data_bytes},
                              {"records", report.records},
                              {"records_by_kind", report.records_by_kind},
                              {"unrecorded", to_json(report.unrecorded)},
                              {"undecodable", to_json(report.undecodable)},
                              {"explained", to_json(report.explained)},
                              {"doubtful", to_json(report.doubtful)},
                              {"explained_doubts", to_json(report.explained_doubts)}};
    out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

} // namespace previrt
