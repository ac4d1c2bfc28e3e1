/* Where the time of a rank goes: each nanosecond is in exactly one account, because one stamp closes
 * a stretch and opens the next. The sum of the accounts is the wall time, exactly.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_CORE_MEASURE_ACCOUNT_H
#define HAUL_CORE_MEASURE_ACCOUNT_H

#include <stdint.h>

enum account {
	ACCOUNT_COMPUTE,    /* the emulated accelerator, the time asked for */
	ACCOUNT_OPEN,       /* waiting for storage: open, close and other metadata */
	ACCOUNT_FIRST_BYTE, /* ... for the first byte of a read, where the store tells */
	ACCOUNT_TRANSFER,   /* ... for the bytes */
	ACCOUNT_QUEUE,      /* ... for a request that was due and not yet taken up */
	ACCOUNT_RANKS,      /* waiting for other ranks */
	ACCOUNT_DECODE,     /* waiting for emulated preprocessing */
	ACCOUNT_COPY,       /* a batch on its way to the accelerator: pinning, host to device */
	ACCOUNT_HAUL,       /* haul itself: everything else */
	ACCOUNTS
};

struct accounts {
	uint64_t ns[ACCOUNTS];
	uint64_t start_ns, since_ns; /* the open stretch began at since_ns */
	enum account state;
};

void account_start(struct accounts *a, enum account state, uint64_t now_ns);

/* Closes the open stretch at now_ns and opens the next. A stamp before the last one counts as the
 * last one: stamps of different origin may disagree by a few ns, the sum must not. */
void account_switch(struct accounts *a, enum account state, uint64_t now_ns);

/* The time since the last stamp is nobody's: the phase stood still. */
void account_skip(struct accounts *a, uint64_t now_ns);

/* Gives a wait of wait_ns, charged to haul until now, to those the worker blamed: at most what each
 * was blamed for, never more than the wait. What nobody is blamed for stays with haul. */
void account_blame(struct accounts *a, uint64_t wait_ns, const uint64_t blamed[ACCOUNTS]);

/* The time from the start to the last stamp, less what was skipped: the sum of all accounts. */
uint64_t account_wall(const struct accounts *a);

#endif
