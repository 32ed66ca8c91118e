// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_dp83820: a card that is set up, sends and receives, in each format of descriptors.
#include "devices/dp83820/descriptor.hpp"
#include "devices/dp83820/registers.hpp"
#include "host/file.hpp"
#include "tests/fuzz/dp83820_step.hpp"
#include "tests/fuzz/seeds.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace previrt {

namespace {

using namespace dp83820;

constexpr std::uint32_t list = 0x1000;
constexpr std::uint32_t stride = 32;
constexpr std::uint8_t first_receive = 64;
constexpr std::uint8_t descriptors = 16;

std::vector<Step> set_up(std::uint32_t cfg, std::uint32_t txcfg) {
    std::vector<Step> steps;
    const auto write = [&](std::uint32_t offset, std::uint32_t value) {
        steps.push_back({static_cast<std::uint8_t>(StepKind::write_register),
                         static_cast<std::uint8_t>(offset / 4), 0, value});
    };
    write(at::cfg, cfg);
    write(at::txcfg, txcfg);
    write(at::rxcfg, rxcfg_aep | rxcfg_stripcrc | rxcfg_alp);
    write(at::vrcr, vrcr_ipen | vrcr_vtden | vrcr_vtren);
    write(at::vtcr, vtcr_ppchk | vtcr_vppti);
    write(at::rfcr, rfcr_rfen | rfcr_aab | rfcr_aam | rfcr_aau);
    write(at::imr, isr_all);
    write(at::ier, 1);
    write(at::txdp, list);
    write(at::rxdp, list + (first_receive * stride));
    write(at::cr, cr_rxe);
    return steps;
}

void add_traffic(std::vector<Step>& steps, std::uint32_t bytes, std::uint32_t flags) {
    const auto add = [&](StepKind kind, std::uint8_t index, unsigned number, std::uint32_t value) {
        steps.push_back({static_cast<std::uint8_t>(kind), index, static_cast<std::uint16_t>(number), value});
    };
    for (std::uint8_t i = 0; i < descriptors; ++i) {
        add(StepKind::write_descriptor, i, 0x2000U | (i + 1U), cmdsts_own | flags | bytes);
        add(StepKind::write_descriptor, static_cast<std::uint8_t>(first_receive + i),
            0x8000U | (first_receive + i + 1U), bytes);
    }
    add(StepKind::write_register, at::cr, 0, cr_txe);
    for (std::uint8_t i = 0; i < descriptors; ++i) {
        add(StepKind::transmit, 0, 0, i);
        add(StepKind::receive, i, 0x100, bytes);
        add(StepKind::read_register, at::isr / 4, 0, 0);
    }
    for (const std::uint32_t bits : {0x6082'0000U, 0x6086'0000U, 0x5082'0800U, 0x5082'1140U}) {
        add(StepKind::send_bits, 0, 0, bits); // BMCR and BMSR read, BMCR written
    }
    add(StepKind::pass_time, 0, 0, 1'000'000);
    add(StepKind::serve_receiver, 0, 0, 0);
}

void write_seed(const std::string& path, const std::vector<Step>& steps) {
    std::vector<std::uint8_t> bytes(steps.size() * sizeof(Step));
    std::memcpy(bytes.data(), steps.data(), bytes.size());
    write_file(path, bytes);
}

} // namespace

void write_seeds(const std::string& directory) {
    for (const std::uint32_t cfg : {0U, cfg_extsts_en, cfg_m64addr, cfg_m64addr | cfg_extsts_en}) {
        for (const std::uint32_t txcfg : {txcfg_atp, txcfg_mlb}) {
            std::vector<Step> steps = set_up(cfg, txcfg);
            add_traffic(steps, 1514, 0);
            add_traffic(steps, 60, cmdsts_intr);
            add_traffic(steps, 700, cmdsts_more);
            write_seed(directory + "/" + std::to_string(cfg) + "-" + std::to_string(txcfg), steps);
            steps.push_back({static_cast<std::uint8_t>(StepKind::race), 0, 0, 12345});
            add_traffic(steps, 400, cmdsts_intr);
            write_seed(directory + "/race-" + std::to_string(cfg) + "-" + std::to_string(txcfg), steps);
        }
    }
}

} // namespace previrt
