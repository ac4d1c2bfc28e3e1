/* Probes of this machine: each uses a facility, and reports what it found and what follows from
 * it. */
#ifndef HAUL_CLI_PROBE_H
#define HAUL_CLI_PROBE_H

struct probe {
	char found[128];
	char verdict[64]; /* "ok", or what to do */
};

void probe_io_uring(struct probe *p);   /* creates a ring */
void probe_huge_pages(struct probe *p); /* maps, advises and touches memory, then checks it */
void probe_direct(struct probe *p);     /* writes and reads an unnamed file in this folder */
void probe_memory_lock(struct probe *p);
void probe_schedulers(struct probe *p);
void probe_clock(struct probe *p); /* takes 0.2 s */

#endif
