// SPDX-License-Identifier: BSD-2-Clause
// The registers of the DP83820 and their bits, by the names of the manual.
#pragma once

#include <cstdint>

namespace previrt::dp83820 {

// Offsets in either BAR.
namespace at {
inline constexpr std::uint32_t cr = 0x00;
inline constexpr std::uint32_t cfg = 0x04;
inline constexpr std::uint32_t mear = 0x08;
inline constexpr std::uint32_t ptscr = 0x0c;
inline constexpr std::uint32_t isr = 0x10;
inline constexpr std::uint32_t imr = 0x14;
inline constexpr std::uint32_t ier = 0x18;
inline constexpr std::uint32_t ihr = 0x1c;
inline constexpr std::uint32_t txdp = 0x20;
inline constexpr std::uint32_t txdp_hi = 0x24;
inline constexpr std::uint32_t txcfg = 0x28;
inline constexpr std::uint32_t gpior = 0x2c;
inline constexpr std::uint32_t rxdp = 0x30;
inline constexpr std::uint32_t rxdp_hi = 0x34;
inline constexpr std::uint32_t rxcfg = 0x38;
inline constexpr std::uint32_t pqcr = 0x3c;
inline constexpr std::uint32_t wcsr = 0x40;
inline constexpr std::uint32_t pcr = 0x44;
inline constexpr std::uint32_t rfcr = 0x48;
inline constexpr std::uint32_t rfdr = 0x4c;
inline constexpr std::uint32_t srr = 0x58;
inline constexpr std::uint32_t mibc = 0x5c;
inline constexpr std::uint32_t first_counter = 0x60;
inline constexpr std::uint32_t last_counter = 0x88;
inline constexpr std::uint32_t txdp1 = 0xa0; // to TXDP3 at 0xa8
inline constexpr std::uint32_t rxdp1 = 0xb0; // to RXDP3 at 0xb8
inline constexpr std::uint32_t vrcr = 0xbc;
inline constexpr std::uint32_t vtcr = 0xc0;
inline constexpr std::uint32_t vdr = 0xc4;
inline constexpr std::uint32_t ccsr = 0xcc;
inline constexpr std::uint32_t tbicr = 0xe0;
inline constexpr std::uint32_t tbisr = 0xe4;
inline constexpr std::uint32_t tanar = 0xe8;
inline constexpr std::uint32_t tanlpar = 0xec;
inline constexpr std::uint32_t taner = 0xf0;
inline constexpr std::uint32_t tesr = 0xf4;
inline constexpr std::uint32_t configuration_space = 0x200; // a mirror, in the memory BAR
inline constexpr std::uint32_t configuration_space_end = 0x300;
} // namespace at

inline constexpr std::uint32_t cr_txe = 0x001;
inline constexpr std::uint32_t cr_txd = 0x002;
inline constexpr std::uint32_t cr_rxe = 0x004;
inline constexpr std::uint32_t cr_rxd = 0x008;
inline constexpr std::uint32_t cr_txr = 0x010;
inline constexpr std::uint32_t cr_rxr = 0x020;
inline constexpr std::uint32_t cr_swi = 0x080;
inline constexpr std::uint32_t cr_rst = 0x100;

inline constexpr std::uint32_t cfg_bem = 1U << 0U;
inline constexpr std::uint32_t cfg_extsts_en = 1U << 8U;
inline constexpr std::uint32_t cfg_phy_rst = 1U << 10U;
inline constexpr std::uint32_t cfg_m64addr = 1U << 11U;
inline constexpr std::uint32_t cfg_data64_en = 1U << 12U;
inline constexpr std::uint32_t cfg_pci64_det = 1U << 13U;
inline constexpr std::uint32_t cfg_t64addr = 1U << 14U;
inline constexpr std::uint32_t cfg_tmrtest = 1U << 17U;
inline constexpr std::uint32_t cfg_pint_spdsts = 1U << 18U;
inline constexpr std::uint32_t cfg_pint_lnksts = 1U << 19U;
inline constexpr std::uint32_t cfg_pint_dupsts = 1U << 20U;
inline constexpr std::uint32_t cfg_mode_1000 = 1U << 22U;
inline constexpr std::uint32_t cfg_tbi_en = 1U << 24U;
inline constexpr std::uint32_t cfg_dupsts = 1U << 28U; // half duplex
inline constexpr std::uint32_t cfg_spdsts_1000 = 1U << 29U;
inline constexpr std::uint32_t cfg_spdsts_100 = 2U << 29U;
inline constexpr std::uint32_t cfg_spdsts = 3U << 29U; // 10 Mbit/s
inline constexpr std::uint32_t cfg_lnksts = 1U << 31U;
inline constexpr std::uint32_t cfg_of_eeprom =
    cfg_m64addr | cfg_data64_en | cfg_t64addr | cfg_mode_1000 | cfg_tbi_en;
inline constexpr std::uint32_t cfg_writable = 0x0fff'ffffU & ~(cfg_pci64_det | cfg_t64addr);

inline constexpr std::uint32_t mear_eedi = 0x01;
inline constexpr std::uint32_t mear_eedo = 0x02;
inline constexpr std::uint32_t mear_eeclk = 0x04;
inline constexpr std::uint32_t mear_eesel = 0x08;
inline constexpr std::uint32_t mear_mdio = 0x10;
inline constexpr std::uint32_t mear_mddir = 0x20;
inline constexpr std::uint32_t mear_mdc = 0x40;
inline constexpr std::uint32_t mear_reset = 0x12;

inline constexpr std::uint32_t ptscr_eeload_en = 1U << 2U;
inline constexpr std::uint32_t ptscr_rbist_done = 1U << 9U;
inline constexpr std::uint32_t ptscr_rbist_en = 1U << 10U;
inline constexpr std::uint32_t ptscr_rbist_rst = 1U << 13U;

inline constexpr std::uint32_t isr_rxok = 1U << 0U;
inline constexpr std::uint32_t isr_rxdesc = 1U << 1U;
inline constexpr std::uint32_t isr_rxerr = 1U << 2U;
inline constexpr std::uint32_t isr_rxidle = 1U << 4U;
inline constexpr std::uint32_t isr_rxorn = 1U << 5U;
inline constexpr std::uint32_t isr_txok = 1U << 6U;
inline constexpr std::uint32_t isr_txdesc = 1U << 7U;
inline constexpr std::uint32_t isr_txerr = 1U << 8U;
inline constexpr std::uint32_t isr_txidle = 1U << 9U;
inline constexpr std::uint32_t isr_txurn = 1U << 10U;
inline constexpr std::uint32_t isr_mib = 1U << 11U;
inline constexpr std::uint32_t isr_swi = 1U << 12U;
inline constexpr std::uint32_t isr_phy = 1U << 14U;
inline constexpr std::uint32_t isr_hibint = 1U << 15U;
inline constexpr std::uint32_t isr_rxsovr = 1U << 16U;
inline constexpr std::uint32_t isr_rmabt = 1U << 18U;
inline constexpr std::uint32_t isr_rxrcmp = 1U << 21U;
inline constexpr std::uint32_t isr_txrcmp = 1U << 22U;
inline constexpr std::uint32_t isr_all = 0x7fff'ffff;
inline constexpr std::uint32_t isr_high = 0x7fff'0000;

inline constexpr std::uint32_t ihr_holdoff = 0x0ff; // 100 us
inline constexpr std::uint32_t ihr_ihctl = 0x100;
inline constexpr std::uint32_t ihr_all = ihr_holdoff | ihr_ihctl;

inline constexpr std::uint32_t txcfg_mlb = 1U << 29U;
inline constexpr std::uint32_t txcfg_atp = 1U << 28U;
inline constexpr std::uint32_t rxcfg_aep = 1U << 31U;
inline constexpr std::uint32_t rxcfg_stripcrc = 1U << 29U;
inline constexpr std::uint32_t rxcfg_alp = 1U << 27U;
inline constexpr std::uint32_t rxcfg_airl = 1U << 26U;

inline constexpr std::uint32_t pcr_send = 1U << 17U;

inline constexpr std::uint32_t rfcr_rfen = 1U << 31U;
inline constexpr std::uint32_t rfcr_aab = 1U << 30U;
inline constexpr std::uint32_t rfcr_aam = 1U << 29U;
inline constexpr std::uint32_t rfcr_aau = 1U << 28U;
inline constexpr std::uint32_t rfcr_apm = 1U << 27U;
inline constexpr std::uint32_t rfcr_aarp = 1U << 22U;
inline constexpr std::uint32_t rfcr_mhen = 1U << 21U;
inline constexpr std::uint32_t rfcr_uhen = 1U << 20U;
inline constexpr std::uint32_t rfcr_ulm = 1U << 19U;
inline constexpr std::uint32_t rfcr_rfaddr = 0x3ff;
inline constexpr std::uint32_t rfcr_writable = 0xfff8'03ff;

inline constexpr std::uint32_t mibc_wrn = 1;
inline constexpr std::uint32_t mibc_frz = 2;
inline constexpr std::uint32_t mibc_aclr = 4;
inline constexpr std::uint32_t mibc_mibs = 8;

inline constexpr std::uint32_t vrcr_vtden = 0x01;
inline constexpr std::uint32_t vrcr_vtren = 0x02;
inline constexpr std::uint32_t vrcr_dvtf = 0x04;
inline constexpr std::uint32_t vrcr_dutf = 0x08;
inline constexpr std::uint32_t vrcr_ipen = 0x10;
inline constexpr std::uint32_t vrcr_ripe = 0x20;
inline constexpr std::uint32_t vrcr_rtcpe = 0x40;
inline constexpr std::uint32_t vrcr_rudpe = 0x80;

inline constexpr std::uint32_t vtcr_vgti = 1;
inline constexpr std::uint32_t vtcr_vppti = 2;
inline constexpr std::uint32_t vtcr_gchk = 4;
inline constexpr std::uint32_t vtcr_ppchk = 8;

inline constexpr std::uint32_t ccsr_clkrun = 1U << 0U;
inline constexpr std::uint32_t ccsr_pmeen = 1U << 8U;

inline constexpr std::uint32_t tbicr_loop = 1U << 14U;
inline constexpr std::uint32_t tbicr_an_en = 1U << 12U;
inline constexpr std::uint32_t tbisr_link = 1U << 5U;
inline constexpr std::uint32_t tbisr_an_done = 1U << 2U;
inline constexpr std::uint32_t taner_pr = 1U << 1U;

} // namespace previrt::dp83820
