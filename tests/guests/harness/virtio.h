/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A virtio device's registers, and a balloon's behind them, by their offset in the BAR. The unit tests' drivers
 * use them too.
 */
#pragma once

enum virtio_register {
    device_feature_select = 0x00,
    device_feature = 0x04,
    driver_feature_select = 0x08,
    driver_feature = 0x0c,
    num_queues = 0x12,
    device_status = 0x14,
    queue_select = 0x16,
    queue_size = 0x18,
    queue_enable = 0x1c,
    queue_desc = 0x20,
    queue_driver = 0x28,
    queue_device = 0x30,
    interrupt_status = 0x38,
    notify = 0x3c,
    num_pages = 0x40,
    actual = 0x44,
};
