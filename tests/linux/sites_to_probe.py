#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sites_to_probe.py PREVIRT VMLINUX
Prints some sites of functions that every guest calls: KIND SYMBOL+OFFSET, and SYMBOL+OFFSET of the next instruction."""
import collections
import json
import re
import subprocess
import sys

MOST = 12  # of a kind
KINDS = ("cli", "sti", "pushf")
# Those that Linux calls for processes, pipes, signals, sleep and files. A compiler may split a function.
FUNCTIONS = re.compile(
    r"(_raw_spin_(un)?lock_irq(save|restore)?|schedule|__schedule|finish_task_switch|prepare_to_wait_event|finish_wait|"
    r"prepare_to_wait_exclusive|autoremove_wake_function|add_wait_queue|remove_wait_queue|do_wait|try_to_wake_up|"
    r"__wake_up_common_lock|__set_current_blocked|set_current_blocked|sigprocmask|do_sigaction|get_signal|send_sig_info|"
    r"do_send_sig_info|copy_process|release_task|exit_notify|do_notify_parent|hrtimer_start_range_ns|hrtimer_try_to_cancel|"
    r"get_page_from_freelist|rmqueue|free_unref_page|free_unref_page_list|folio_add_lru|__mod_zone_page_state)"
    r"(\.(part|constprop|isra|cold)\.?\d*)*")

previrt, vmlinux = sys.argv[1:]
sites = json.loads(subprocess.run([previrt, "sites", "--json", vmlinux], capture_output=True, check=True).stdout)["sites"]
names = re.findall(r"^\S+ [tT] (\S+)$", subprocess.run(["nm", vmlinux], capture_output=True, text=True, check=True).stdout,
                   re.MULTILINE)
count = collections.Counter(names)
chosen = collections.Counter()
for site in sites:
    kind, symbol, offset = site["kind"], site["symbol"], site["symbol_offset"]
    if (kind in KINDS and site["section"] == ".text" and FUNCTIONS.fullmatch(symbol) and count[symbol] == 1 and
            chosen[kind] < MOST):
        chosen[kind] += 1
        end = offset + site["padding_length"] + site["instruction_length"]
        print(f"{kind} {symbol}+{offset} {symbol}+{end}")
if set(chosen) != set(KINDS):
    sys.exit(f"sites_to_probe: found only {dict(chosen)}")
