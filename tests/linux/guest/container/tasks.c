/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel's counters of each task, and its random numbers for the first tasks.
 */
#include "feature.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>

void early_entropy(void)
{
	unsigned char bytes[64] = { 0 };
	unsigned zeros = 0;

	require(getrandom(bytes, sizeof bytes, GRND_NONBLOCK) == sizeof bytes);
	for (unsigned i = 0; i < sizeof bytes; i++)
		zeros += bytes[i] == 0;
	require(zeros < sizeof bytes / 4);
}

/* Of an attribute in a message of netlink: its header, and the multiple at which the next one begins. */
enum { header = sizeof(struct nlattr), alignment = 4 };

struct request {
	struct nlmsghdr head;
	struct genlmsghdr command;
	struct nlattr attribute;
	unsigned char value[1024];
};

/* Sends one attribute; `request` holds the answer then. Gives the answer's bytes. */
static ssize_t ask(int socket, struct request *request, uint16_t type, uint8_t command, uint16_t attribute, const void *value,
		   uint16_t bytes)
{
	*request = (struct request){ 0 };
	request->head.nlmsg_len = (uint32_t)(sizeof request->head + sizeof request->command + header + bytes);
	request->head.nlmsg_type = type;
	request->head.nlmsg_flags = NLM_F_REQUEST;
	request->command.cmd = command;
	request->command.version = 1;
	request->attribute.nla_len = (uint16_t)(header + bytes);
	request->attribute.nla_type = attribute;
	memcpy(request->value, value, bytes);
	require(send(socket, request, request->head.nlmsg_len, 0) == (ssize_t)request->head.nlmsg_len);
	const ssize_t length = recv(socket, request, sizeof *request, 0);
	require(length > (ssize_t)(sizeof request->head + sizeof request->command));
	require(request->head.nlmsg_type != NLMSG_ERROR);
	return length;
}

/* Finds an attribute among those from `first` on. */
static const struct nlattr *find(const void *first, const void *end, uint16_t type)
{
	const unsigned char *at = first;

	while (at + header <= (const unsigned char *)end) {
		const struct nlattr *const attribute = (const void *)at;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return attribute;
		require(attribute->nla_len >= header);
		at += (attribute->nla_len + alignment - 1) / alignment * alignment;
	}
	return NULL;
}

void task_statistics(void)
{
	const int socket_ = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	struct request request;

	require(socket_ >= 0);
	ssize_t length = ask(socket_, &request, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
			     sizeof TASKSTATS_GENL_NAME);
	const struct nlattr *const family = find(&request.attribute, (char *)&request + length, CTRL_ATTR_FAMILY_ID);
	require(family != NULL);
	uint16_t type;
	memcpy(&type, (const char *)family + header, sizeof type);

	const uint32_t process = (uint32_t)getpid();
	length = ask(socket_, &request, type, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &process, sizeof process);
	const struct nlattr *const of_process = find(&request.attribute, (char *)&request + length, TASKSTATS_TYPE_AGGR_PID);
	require(of_process != NULL);
	const struct nlattr *const found =
		find((const char *)of_process + header, (char *)&request + length, TASKSTATS_TYPE_STATS);
	require(found != NULL);
	struct taskstats statistics = { 0 };
	/* A later kernel's are longer. */
	const size_t bytes = found->nla_len - (size_t)header;
	memcpy(&statistics, (const char *)found + header, bytes < sizeof statistics ? bytes : sizeof statistics);
	require(statistics.ac_pid == process && strcmp(statistics.ac_comm, "container") == 0);
}
