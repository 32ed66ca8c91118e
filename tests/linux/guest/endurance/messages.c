/* SPDX-License-Identifier: BSD-2-Clause */
#include "endurance.h"

#include <sys/wait.h>

enum { groups = 4, senders = 5, receivers = 5, rounds = 80, message_bytes = 100 };

struct message {
	uint32_t sender, number;
	uint8_t text[message_bytes - 8];
};

/* Every sender of a group sends to every receiver of it, in turn. */
static _Noreturn void send_all(uint32_t sender, int ends[receivers][2])
{
	for (uint32_t number = 0; number < share(rounds); number++) {
		struct message message = { .sender = sender, .number = number };

		memset(message.text, (int)(seed + sender + number), sizeof message.text);
		for (unsigned to = 0; to < receivers; to++)
			require(write(ends[to][1], &message, sizeof message) == sizeof message, "write");
	}
	_exit(0);
}

static int is_whole(const struct message *message, const uint32_t *next)
{
	if (message->sender >= senders || message->number != next[message->sender])
		return 0;
	for (size_t i = 0; i < sizeof message->text; i++)
		if (message->text[i] != (uint8_t)(seed + message->sender + message->number))
			return 0;
	return 1;
}

/* Tells how many came, each in its sender's order. */
static _Noreturn void receive_all(int end, int result)
{
	uint32_t next[senders] = { 0 };
	uint32_t received = 0;
	struct message message;

	while (read(end, &message, sizeof message) == sizeof message && is_whole(&message, next)) {
		next[message.sender]++;
		received++;
	}
	_exit(write(result, &received, sizeof received) == sizeof received ? 0 : 1);
}

static void start_group(int result)
{
	int ends[receivers][2];

	for (unsigned i = 0; i < receivers; i++)
		require(pipe(ends[i]) == 0, "pipe");
	for (unsigned i = 0; i < receivers; i++) {
		const pid_t process = fork();

		require(process >= 0, "fork");
		if (process == 0) {
			for (unsigned k = 0; k < receivers; k++)
				close(ends[k][1]);
			receive_all(ends[i][0], result);
		}
	}
	for (uint32_t i = 0; i < senders; i++) {
		const pid_t process = fork();

		require(process >= 0, "fork");
		if (process == 0)
			send_all(i, ends);
	}
	for (unsigned i = 0; i < receivers; i++) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
}

uint64_t pass_messages(void)
{
	uint64_t received = 0;
	uint32_t one;
	int results[2];
	int status;

	require(pipe(results) == 0, "pipe");
	for (unsigned i = 0; i < groups; i++)
		start_group(results[1]);
	close(results[1]);
	while (read(results[0], &one, sizeof one) == sizeof one)
		received += one;
	close(results[0]);
	while (wait(&status) > 0)
		require(status == 0, "a sender or receiver");
	return received;
}
