/* SPDX-License-Identifier: BSD-2-Clause */
/* no-segmentation DEVICE: from now on the device gets no segments above its MTU to cut up. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int count, char** arguments) {
    struct ethtool_value off = {.cmd = ETHTOOL_STSO, .data = 0};
    struct ifreq request = {.ifr_data = (char*)&off};
    if (count != 2 || strlen(arguments[1]) >= sizeof request.ifr_name) {
        fputs("usage: no-segmentation DEVICE\n", stderr);
        return 2;
    }
    strcpy(request.ifr_name, arguments[1]);
    if (ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCETHTOOL, &request) != 0) {
        perror("no-segmentation");
        return 1;
    }
    return 0;
}
