# The same in processes, and guests that attack what is around one: the filter, the monitor, the host.
function(add_process_test case image statuses pattern)
  add_hostile_test(process.${case} process ${image} "${statuses}" "${pattern}")
endfunction()

# as_on_xen(STATUSES PATTERN CASE...): the guests that Xen has had.
function(as_on_xen statuses pattern)
  foreach(case ${ARGN})
    add_process_test(${case} ${CMAKE_CURRENT_BINARY_DIR}/${case}.elf "${statuses}" "${pattern}")
  endforeach()
endfunction()

# in_process(FILE STATUSES PATTERN CASE...): guests that know where things are in a process.
macro(in_process file statuses pattern)
  foreach(case ${ARGN})
    set(image ${CMAKE_CURRENT_BINARY_DIR}/process_${case}.elf)
    assemble_hostile(${file} ${case} ${image} -DIN_PROCESS)
    list(APPEND hostile_images ${image})
    add_process_test(${case} ${image} "${statuses}" "${pattern}")
  endforeach()
endmacro()

set(triple_fault "${stopped}a triple fault")
set(refused_by_host "^previrt: the host ended the guest: signal Bad system call")
set(lost "^previrt: the host ended the guest: signal Segmentation fault")

as_on_xen(1 "${stopped}CR3 points outside RAM" cr3_far_outside cr3_just_outside)
as_on_xen(0 "^ok: CR3 wider than an address: #GP at it" cr3_reserved_bits)
as_on_xen(1 "${stopped}(a triple fault|an access to unmapped memory of the host|the guest maps memory over the VMM)" cr3_of_zeros cr3_of_garbage cr3_of_itself)
as_on_xen(1 "${stopped}an access outside RAM" page_far_outside page_just_outside large_page_outside plain_stores
  string_port_without_end)
as_on_xen(1 "${stopped}a page table lies outside RAM" table_outside directory_outside)
as_on_xen(0 "^ok: pages that are not the one of their number" every_frame)
as_on_xen(0 "^ok: faults" tables_without_end)
as_on_xen(0 "^ok: bytes lost" sparse_memory)

as_on_xen(1 "${triple_fault}" stack_unmapped_exception stack_unmapped_site stack_null_exception
  stack_non_canonical_exception stack_non_canonical_site handler_faults triple_fault_by_table triple_fault_by_gates)
as_on_xen(endless "${ended_by_signal}" page_fault_never_resolved invalid_opcode_for_ever
  loop_without_interrupts)
as_on_xen(0 "${begun}" hlt_without_interrupts)
as_on_xen(0 "^ok: ticks are taken" interrupt_storm)
as_on_xen(0 "^ok: in service" interrupt_never_ended)
as_on_xen(0 "^ok: the console still works" port_storm)
as_on_xen(1 "${stopped}a read of a port that is not modelled: 0xde15" port_that_is_none)

as_on_xen(0 "^ok: iret comes back by an exception each time" iret_to_user iret_to_kernel)
as_on_xen(0 "^ok: iret to nowhere faults" iret_non_canonical_rip)
as_on_xen(0 "^ok: in the kernel" sysret_non_canonical)
as_on_xen(0 "^ok: it comes back by an exception" sysret_stack_non_canonical)
as_on_xen(0 "^ok: an exception" jump_non_canonical)

as_on_xen(0 "^ok: the announced cli was executed" records_right)
as_on_xen(0 "^ok: and no second time" module_refused)
as_on_xen(0 "^ok: the sti of the other was executed" module_forgotten)
as_on_xen(0 "^ok: the copied cli was executed" copies_refused)
as_on_xen(0 "^exception 14" module_note_unmapped)
as_on_xen(1 "${stopped}an announcement that the VMM does not know: 0x63" module_tag_unknown)
as_on_xen(1 "${refused}" records_unknown_kind records_another_kind records_reserved_form records_without_length
  records_too_long records_overlapping records_same_site records_twice)
as_on_xen(1 "${stopped}an announced site is not in memory" records_outside_memory)
as_on_xen(1 "${stopped}a table of records of a length that none has" records_odd_length records_huge_length)
as_on_xen(0 "^exception 14" records_table_unmapped records_table_wraps)
as_on_xen(0 "^exception 13" records_table_non_canonical)
as_on_xen(1 "${stopped}too many sites" records_without_end)
foreach(site cli sti read_cr3 write_cr3 port swapgs iret hlt)
  as_on_xen("${any}" "${deed}" into_${site})
endforeach()

in_process(vmm_memory "${any}" "${deed}" kernel_destroys_image kernel_destroys_map kernel_destroys_data
  kernel_destroys_shared_info kernel_jumps_to_image)
in_process(vmm_memory 1 "${over_vmm} the addresses from 0x7f4000000000$"
  kernel_page_over_map)
in_process(vmm_memory 1 "${stopped}a call of the VMM from an address without a site" kernel_calls_entry)
in_process(stack "${any}" "${deed}" stack_in_hypervisor_exception stack_in_hypervisor_site stack_in_vmm_exception
  stack_in_vmm_site stack_in_map_exception)
in_process(returns "${any}" "${deed}" iret_into_vmm)

# Where a host maps nothing.
in_process(page_tables 1 "${stopped}the guest executes where the host maps nothing .vm.mmap_min_addr., at 0x100$"
  executes_low_memory)
in_process(page_tables 1 "${stopped}an access to unmapped memory of the host by an instruction that is not modelled, at 0x100"
  calculates_in_low_memory)

in_process(process_calls 1 "${refused_by_host}" call_open call_socket call_execve call_fork call_thread
  call_namespace call_kill call_kill_keeper call_ptrace call_new_memory call_memory_of_event call_growing_memory
  call_handler call_privileges call_dispatch_off call_write_memory call_write_error call_of_x32 call_that_is_none
  call_of_32_bits call_by_user)
in_process(process_calls "${any}" "${deed}" calls_allowed_first_seed calls_allowed_second_seed
  calls_allowed_third_seed calls_allowed_of_32_bits)
in_process(process_calls 0 "^ok: calls that are not what they are" calls_of_kernel)
in_process(process_calls 0 "^ok: calls that did not come to the guest's kernel" calls_of_user)

in_process(process_memory 1 "${lost}" unmaps_everything denies_signal_stack)
in_process(process_memory 0 "^ok: memory behind the file's end" maps_behind_the_file)
# Its signals come for as long as there is room for one more.
in_process(process_memory "1|endless" "${deed}" unmaps_vmm denies_vmm)
in_process(process_memory "${any}" "${deed}" unmaps_vmm_memory maps_ram_over_vmm rings_lie
  event_word_flips jumps_first_seed jumps_second_seed jumps_third_seed jumps_fourth_seed)
in_process(process_memory 1 "^memory: all was written" fills_memory)

# It tries machines that give less: of user namespaces, none in one that has some.
add_machine_test(guests.hostile.process.refusing_hosts TIMEOUT 300
  NEEDS process "can:unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces'"
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/refusing_hosts.py $<TARGET_FILE:previrt> ${CMAKE_CURRENT_BINARY_DIR})

add_machine_test(guests.hostile.process.too_much_memory TIMEOUT 120 NEEDS process
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/too_much_memory.py $<TARGET_FILE:previrt> ${CMAKE_CURRENT_BINARY_DIR}/../hello.elf)

foreach(place process kvm)
  add_machine_test(guests.hostile.${place}.confined_monitor TIMEOUT 120 NEEDS ${place}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/confined_monitor.py $<TARGET_FILE:previrt> ${place}
      ${CMAKE_CURRENT_BINARY_DIR}/loop_without_interrupts.elf)
endforeach()

foreach(place process process-isolate)
  add_machine_test(guests.hostile.${place}.nothing_left TIMEOUT 120 NEEDS ${place}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/nothing_left.py ${place} $<TARGET_FILE:previrt>
      ${CMAKE_CURRENT_BINARY_DIR}/loop_without_interrupts.elf)
endforeach()

in_process(process_storms endless "${ended_by_signal}" forks_without_end doorbell_without_end
  waits_for_ever blocks_all_signals)
in_process(process_storms "${any}" "${deed}" timer_storm returns_to_32_bits returns_to_nonsense)
# bounds.py runs these and looks at them from outside.
foreach(case maps_in_many_processes maps_slowly_in_many_processes runs_many_processes)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/process_${case}.elf)
  assemble_hostile(process_bounds ${case} ${image} -DIN_PROCESS)
  list(APPEND hostile_images ${image})
  set(needs process)
  if(case STREQUAL runs_many_processes)
    list(APPEND needs processors:2)
  endif()
  add_machine_test(guests.hostile.process.${case} TIMEOUT 120 NEEDS ${needs}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bounds.py $<TARGET_FILE:previrt> ${case} ${image})
endforeach()

in_process(process_storms 0 "^timers: they have an end" timers_without_end)
in_process(process_storms 1 "^previrt: the host ended the guest: a process ended with status 77" exits_with_status)
in_process(process_storms 1 "^previrt: the VMM ended the guest without a word" exits_without_a_word)
in_process(process_storms 1 "^previrt: the host ended the guest: signal Unknown signal 127" exits_like_one_killed)

# User mode beside its kernel, and in processes of its own.
in_process(user_process 0 "^places of the kernel's that a load of user mode reaches: [1-9]" user_reaches_kernel)
foreach(case user_is_kept_from_kernel user_takes_all_rights user_attacks_first_seed user_attacks_second_seed
    user_attacks_third_seed)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/process_${case}.elf)
  assemble_hostile(user_process ${case} ${image} -DIN_PROCESS)
  list(APPEND hostile_images ${image})
  add_hostile_test(process-isolate.${case} process-isolate ${image} 0 "^ok: and a store")
endforeach()
foreach(case forks_without_end blocks_all_signals)
  add_hostile_test(process-isolate.${case} process-isolate ${CMAKE_CURRENT_BINARY_DIR}/process_${case}.elf endless
    "${ended_by_signal}")
endforeach()
foreach(case call_open call_socket call_fork call_new_memory)
  add_hostile_test(process-isolate.${case} process-isolate ${CMAKE_CURRENT_BINARY_DIR}/process_${case}.elf 1 "${refused_by_host}")
endforeach()
foreach(case every_frame tables_without_end iret_to_user sysret_non_canonical)
  add_hostile_test(process-isolate.${case} process-isolate ${CMAKE_CURRENT_BINARY_DIR}/${case}.elf 0 "^ok: ")
endforeach()
