/* SPDX-License-Identifier: Apache-2.0 */
/* Watchdog of a run: see watchdog.h. */
#include "ranks/run/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/units.h"
#include "ranks/run/exit_status.h"
#include "ranks/run/shelter.h"

enum { PEN_FREE, PEN_MAIN, PEN_WATCHDOG };
enum { BROKEN_NONE, BROKEN_WRITING, BROKEN_SAID };
enum { LABEL_BYTES = 96, NAMED = 3, LEAST_RATE = 10000000 };

#define LOOK_NS      500000000u /* while nobody asks for a stop */
#define LOOK_SOON_NS 100000000u /* once somebody has */
#define AGAIN_NS \
	1000000000u /* signals that come closer are one: launchers send it more than once */
#define GONE_NS   3000000000u /* a rank whose watchdog has not looked for so long is stopped */
#define WORDS_NS  4000000000u /* for the last words, and what their bytes take at the least rate */
#define OTHERS_NS 300000000u  /* until the ranks of the node end: all have looked by then */
#define FAR_NS    120000000000u /* a rank of another node that the launcher has not ended */

struct watchdog_seat {
	_Alignas(64) _Atomic uint64_t looked_ns;
	_Atomic uint64_t beat;
	_Atomic uint32_t overdue; /* calls of this rank do not come back */
	_Atomic uint32_t left;    /* it has done its part of the run */
	/* Written before the run. */
	pid_t pid;
	uint64_t pid_space; /* in which pid counts: ranks may have containers of their own */
	char label[LABEL_BYTES];
};

struct watchdog_board {
	_Atomic uint32_t reason, signals;
	_Atomic uint64_t asked_ns; /* when the stop was asked for; 0: it was not */
	_Atomic uint32_t speaker;  /* the seat that has the last word, + 1; 0: none */
	_Atomic uint32_t over;     /* it has spoken: the exit status of all + 1 */
	_Atomic uint64_t over_ns;  /* when they end */
	_Atomic uint32_t broken;   /* an invariant is: the sentence is being written, or there */
	char broken_said[WATCHDOG_TEXT_BYTES];
	struct watchdog_seat seats[];
};

/* What this watchdog has seen of the main threads of its node. */
struct watchdog_seen {
	uint64_t beat, moved_ns;
};

void watchdog_init(struct watchdog *w, struct stop *stop)
{
	memset(w, 0, sizeof(*w));
	w->stop = stop;
	pthread_mutex_init(&w->looks, NULL);
	atomic_store(&w->grace_ns, WATCHDOG_GRACE_NS);
}

/* 0: unknown. */
static uint64_t pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

int watchdog_open(struct watchdog *w, const struct nodes *nodes, const char *label, struct err *err)
{
	struct group *node = nodes->node;
	struct watchdog_board *board;
	void *block;
	int rc = group_shared(node, sizeof(*board) + node->size * sizeof(board->seats[0]), &block,
			      err);

	if (rc < 0)
		return err_wrap(err, rc, "watchdog");
	board = block;
	w->seat = node->rank;
	w->seats = node->size;
	w->first_node = nodes->index == 0;
	w->one_node = nodes->count == 1;
	w->seen = calloc(node->size, sizeof(*w->seen));
	board->seats[w->seat].pid = getpid();
	board->seats[w->seat].pid_space = pid_space();
	snprintf(board->seats[w->seat].label, LABEL_BYTES, "%s", *label ? label : "the rank");
	atomic_store(&board->seats[w->seat].looked_ns, clock_kernel_ns());
	rc = group_agree(node, w->seen ? 0 : err_set(err, -ENOMEM, "no memory for a watchdog"),
			 err);
	if (rc < 0)
		return rc;
	atomic_store(&w->board, board);
	atomic_store(&w->opened, true);
	return 0;
}

void watchdog_close(struct watchdog *w)
{
	struct watchdog_board *board;

	pthread_mutex_lock(&w->looks);
	board = atomic_load(&w->board);
	if (board)
		atomic_store(&board->seats[w->seat].left, 1);
	atomic_store(&w->board, NULL);
	w->words.speak = NULL;
	free(w->seen);
	w->seen = NULL;
	pthread_mutex_unlock(&w->looks);
}

_Atomic uint64_t *watchdog_beat(struct watchdog *w)
{
	return &atomic_load(&w->board)->seats[w->seat].beat;
}

/* Raises a word that several write to. */
static void raise_to(_Atomic uint32_t *word, uint32_t value)
{
	uint32_t old = atomic_load(word);

	while (old < value && !atomic_compare_exchange_weak(word, &old, value))
		;
}

void watchdog_hear(void *watchdog, uint64_t reason)
{
	struct watchdog *w = watchdog;

	if (reason > STOP_LIMIT && atomic_load_explicit(&w->heard, memory_order_relaxed) < reason)
		raise_to(&w->heard, (uint32_t)reason);
}

void watchdog_overdue(void *watchdog, uint64_t since_ns)
{
	struct watchdog *w = watchdog;

	atomic_store(&w->overdue_ns, since_ns);
}

void watchdog_touch(struct watchdog *w)
{
	atomic_store(&w->touched_ns, clock_kernel_ns());
}

void watchdog_write(struct watchdog *w, uint64_t limit_ns)
{
	watchdog_touch(w);
	atomic_store(&w->write_ns, limit_ns ? clock_kernel_ns() + limit_ns : 0);
}

void watchdog_pen(struct watchdog *w, bool begins)
{
	uint32_t free = PEN_FREE;

	if (!begins) {
		watchdog_touch(w);
		atomic_store(&w->pen, PEN_FREE);
		return;
	}
	while (!atomic_compare_exchange_strong(&w->pen, &free, PEN_MAIN)) {
		clock_nap(LOOK_SOON_NS / 10); /* the watchdog looks, or ends the process */
		free = PEN_FREE;
	}
}

static void look_at_beats(struct watchdog *w, struct watchdog_board *board, uint64_t now_ns)
{
	for (uint32_t i = 0; i < w->seats; i++) {
		uint64_t beat = atomic_load_explicit(&board->seats[i].beat, memory_order_relaxed);

		if (beat == w->seen[i].beat && w->seen[i].moved_ns)
			continue;
		w->seen[i] = (struct watchdog_seen){.beat = beat, .moved_ns = now_ns};
	}
}

/* Whether its pid counts for this process, too. */
static bool seat_near(const struct watchdog *w, const struct watchdog_board *board, uint32_t seat)
{
	uint64_t own = board->seats[w->seat].pid_space;

	return own && board->seats[seat].pid_space == own;
}

/* Stopped, or killed, which shows at once. */
static bool seat_gone(const struct watchdog *w, const struct watchdog_board *board, uint32_t seat,
		      uint64_t now_ns)
{
	const struct watchdog_seat *s = &board->seats[seat];

	if (atomic_load(&s->left))
		return false;
	return excess_u64(now_ns, atomic_load(&s->looked_ns)) > GONE_NS ||
	       (seat_near(w, board, seat) && kill(s->pid, 0) < 0 && errno == ESRCH);
}

/* Another rank of this node is gone. */
static bool one_gone(const struct watchdog *w, const struct watchdog_board *board, uint64_t now_ns)
{
	for (uint32_t i = 0; i < w->seats; i++)
		if (i != w->seat && seat_gone(w, board, i, now_ns))
			return true;
	return false;
}

/* Puts what this rank has heard on the board, and takes what is there. */
static void take_reason(struct watchdog *w, struct watchdog_board *board, bool signalled,
			uint64_t now_ns)
{
	uint64_t deadline_ns = atomic_load(&w->deadline_ns);
	uint64_t overdue_ns = atomic_load(&w->overdue_ns), asked_ns = now_ns, nobody = 0;
	uint32_t reason = atomic_load(&w->heard);

	if (signalled)
		reason = max_u32(reason, STOP_SIGNAL);
	if (signalled && (!w->signals || now_ns - w->signal_ns >= AGAIN_NS)) {
		w->signals++;
		w->signal_ns = now_ns;
	}
	if (overdue_ns && now_ns >= overdue_ns + atomic_load(&w->grace_ns)) {
		reason = max_u32(reason, STOP_OVERDUE);
		asked_ns = overdue_ns;
		if (board)
			atomic_store(&board->seats[w->seat].overdue, 1);
	}
	if (deadline_ns && now_ns >= deadline_ns)
		reason = max_u32(reason, STOP_DEADLINE);
	reason = max_u32(reason, w->reason);
	if (board && reason) {
		/* The first one that asks begins the grace of all. */
		atomic_compare_exchange_strong(&board->asked_ns, &nobody, asked_ns);
		raise_to(&board->reason, reason);
		raise_to(&board->signals, w->signals);
		w->signals = atomic_load(&board->signals);
	}
	if (board)
		reason = atomic_load(&board->reason);
	/* An error ends a phase by its own way; a signal that came to another rank counts at
	 * once. */
	if (reason > w->reason && reason < STOP_ERROR && reason != STOP_OTHERS_FAILED)
		stop_ask(w->stop, (enum stop_reason)reason);
	if (reason && !w->asked_ns)
		w->asked_ns = board ? atomic_load(&board->asked_ns) : asked_ns;
	w->reason = reason;
	/* What is left of the grace is for what comes after: threads end, figures are gathered and
	 * published. */
	if (reason)
		atomic_store(&w->stop->give_up_ns,
			     w->signals > 1 ? now_ns : w->asked_ns + atomic_load(&w->grace_ns) / 2);
}

/* "rank 1 on n7, rank 3 on n7 and 5 more", of those that have not moved since the stop. */
static uint32_t name_stuck(const struct watchdog *w, const struct watchdog_board *board,
			   uint64_t now_ns, char *out, size_t room)
{
	uint64_t since_ns = min_u64(atomic_load(&w->grace_ns) / 2, AGAIN_NS / 2);
	uint32_t count = 0;
	size_t n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < w->seats; i++) {
		if (!seat_gone(w, board, i, now_ns) && !atomic_load(&board->seats[i].overdue) &&
		    now_ns - w->seen[i].moved_ns <= since_ns)
			continue;
		if (count++ < NAMED && n < room)
			n += (size_t)snprintf(
				out + n, room - n, "%s%s%s", n ? ", " : "", board->seats[i].label,
				seat_gone(w, board, i, now_ns) ? " (stopped or killed)" : "");
	}
	if (count > NAMED && n < room)
		snprintf(out + n, room - n, " and %u more", count - NAMED);
	return count;
}

static void sentence(const struct watchdog *w, const struct watchdog_board *board, uint64_t now_ns,
		     char out[WATCHDOG_TEXT_BYTES])
{
	bool lost = shelter_lost(w->parent);
	const char *why = w->reason == STOP_SIGNAL && lost ? "the launcher ended the run"
			  : w->reason == STOP_SIGNAL       ? "stopped by a signal"
			  : w->reason == STOP_DEADLINE     ? "stopped at the deadline"
			  : w->reason == STOP_OVERDUE ? "the limit of time of the phase is over"
						      : "a rank failed";
	char who[WATCHDOG_TEXT_BYTES / 2] = "", grace[UNITS_TEXT_BYTES];

	if (!board || w->seats == 1)
		snprintf(who, sizeof(who), "a call");
	else if (!name_stuck(w, board, now_ns, who, sizeof(who)))
		snprintf(who, sizeof(who),
			 w->one_node ? "what the ranks do together"
				     : "a rank of another node, or what the ranks do together,");
	if (board && atomic_load(&board->broken) == BROKEN_SAID)
		memcpy(out, board->broken_said, WATCHDOG_TEXT_BYTES);
	else if (lost && board && one_gone(w, board, now_ns))
		snprintf(out, WATCHDOG_TEXT_BYTES, "%s; %s cannot come to an end", why, who);
	else if (w->signals > 1)
		snprintf(out, WATCHDOG_TEXT_BYTES, "%s, twice; %s did not come to an end before",
			 why, who);
	else
		snprintf(out, WATCHDOG_TEXT_BYTES, "%s; %s did not come to an end within %s", why,
			 who, units_time(grace, (double)atomic_load(&w->grace_ns) / 1e9));
}

/* What the bytes of the results take at the least rate. */
static uint64_t bytes_ns(const struct watchdog *w)
{
	return atomic_load(&w->write_bytes) / LEAST_RATE * NS_PER_S;
}

/* Memory that this process and its copy share. NULL: none, and the copy's end tells that it is done. */
static _Atomic uint32_t *shared_word(void)
{
	void *word = mmap(NULL, sizeof(_Atomic uint32_t), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return word == MAP_FAILED ? NULL : word;
}

/* False: the results are not there within their time. The copy says when they are: it may not come
 * to an end itself, since the kernel closes its files then, and those of a mount that does not
 * answer are among them. */
static bool watchdog_last_words(struct watchdog *w, const char *said)
{
	uint64_t limit_ns = WORDS_NS + bytes_ns(w), waited_ns = 0;
	_Atomic uint32_t *spoken;
	bool over = false;
	pid_t copy, ended = 0;
	int state;

	if (!w->words.speak)
		return true;
	spoken = shared_word();
	getrusage(RUSAGE_SELF, &w->used);
	copy = fork();
	if (copy == 0) {
		atomic_store(&w->pen, PEN_FREE);
		w->words.speak(w->words.argument, (enum stop_reason)w->reason, said);
		if (spoken)
			atomic_store(spoken, 1);
		_exit(0);
	}
	while (copy > 0 && !over && waited_ns < limit_ns) {
		ended = waitpid(copy, &state, WNOHANG);
		over = ended || (spoken && atomic_load(spoken));
		clock_nap(over ? 0 : LOOK_SOON_NS / 5);
		waited_ns += LOOK_SOON_NS / 5;
	}
	/* The launcher waits for whoever has the output open. */
	if (copy > 0 && !ended)
		kill(copy, SIGKILL);
	return over;
}

/* Whether this rank has the last word: those before it on rank 0's node do not answer. */
static bool speaks(const struct watchdog *w, struct watchdog_board *board, uint64_t now_ns)
{
	uint32_t nobody = 0;

	if (!board)
		return true; /* each ends for itself */
	if (!w->first_node)
		return false;
	for (uint32_t i = 0; i < w->seat; i++)
		if (!seat_gone(w, board, i, now_ns))
			return false;
	return atomic_compare_exchange_strong(&board->speaker, &nobody, w->seat + 1);
}

/* All ranks of the node end at one moment, with one status: the launcher kills those that are left
 * when it sees the first one end, and tells that. */
static _Noreturn void leave(const struct watchdog *w, const struct watchdog_board *board)
{
	uint64_t over_ns = atomic_load(&board->over_ns);

	clock_nap(min_u64(excess_u64(over_ns, clock_kernel_ns()), OTHERS_NS));
	/* Those that are stopped come here, too, now that there is nobody to go on with. Nothing else
	 * may wake them: to the kernel, a process one thread of which is stuck in a call is not stopped. */
	for (uint32_t i = 0; i < w->seats; i++)
		if (i != w->seat && seat_near(w, board, i))
			kill(board->seats[i].pid, SIGCONT);
	_exit((int)atomic_load(&board->over) - 1);
}

static void say_unpublished(const struct watchdog *w)
{
	const struct log *log = atomic_load(&w->log);

	if (log)
		log_say(log, LOG_ERROR,
			"the results cannot be written: their file system does not answer; they stand "
			"as last published, and what was measured since is lost");
}

/* Ends this process, and those of the node's other ranks. MPI_Abort is not allowed here, because this is not the main thread. When
 * a process exits without MPI_Finalize, the launcher ends the others. */
static _Noreturn void end_all(const struct watchdog *w, struct watchdog_board *board, int status)
{
	uint32_t nobody = 0;

	if (!board)
		_exit(status);
	/* Several may come here at once; the first one's status counts. */
	atomic_store(&board->over_ns, clock_kernel_ns() + OTHERS_NS);
	atomic_compare_exchange_strong(&board->over, &nobody, (uint32_t)status + 1);
	leave(w, board);
}

static _Noreturn void end_run(struct watchdog *w, struct watchdog_board *board, uint64_t now_ns)
{
	int status = w->reason == STOP_ERROR || w->reason == STOP_OTHERS_FAILED ? EXIT_FAILED
										: EXIT_INTERRUPTED;
	const struct log *log = atomic_load(&w->log);
	char said[WATCHDOG_TEXT_BYTES];

	sentence(w, board, now_ns, said);
	if (log)
		log_say(log, LOG_ERROR, "%s", said);
	if (!watchdog_last_words(w, said)) {
		say_unpublished(w);
		status = EXIT_FAILED;
	}
	end_all(w, board, status);
}

/* A write that does not end, whoever asks for what. */
static void look_at_write(const struct watchdog *w, struct watchdog_board *board, uint64_t now_ns)
{
	uint64_t write_ns = atomic_load(&w->write_ns);

	if (!write_ns || now_ns <= write_ns)
		return;
	say_unpublished(w);
	end_all(w, board, EXIT_FAILED);
}

/* When the run ends, if nothing goes on. */
static uint64_t due(struct watchdog *w, struct watchdog_board *board, uint64_t now_ns)
{
	uint64_t due_ns = max_u64(w->asked_ns, atomic_load(&w->touched_ns));

	if (board && atomic_load(&board->broken) == BROKEN_SAID) {
		if (!w->first_node)
			_exit(EXIT_FAILED);
		/* All have seen it by then, and look more often. */
		w->broken_ns = w->broken_ns ? w->broken_ns : now_ns + LOOK_NS + LOOK_SOON_NS;
		return w->broken_ns;
	}
	/* Where a rank is gone, and the launcher knows it, the others wait for nothing. */
	if (w->signals < 2 && !(board && shelter_lost(w->parent) && one_gone(w, board, now_ns)))
		due_ns += atomic_load(&w->grace_ns);
	return due_ns;
}

static void look(struct watchdog *w, bool signalled)
{
	struct watchdog_board *board = atomic_load(&w->board);
	uint64_t now_ns = clock_kernel_ns(), due_ns;
	uint32_t pen_free = PEN_FREE, over = board ? atomic_load(&board->over) : 0;

	if (board)
		atomic_store(&board->seats[w->seat].looked_ns, now_ns);
	take_reason(w, board, signalled, now_ns);
	look_at_write(w, board, now_ns);
	if (over)
		leave(w, board);
	if (!w->reason)
		return;
	/* Nothing has been measured, and nothing will be: MPI does not begin without all ranks. */
	if (!atomic_load(&w->opened) && shelter_lost(w->parent))
		_exit(EXIT_INTERRUPTED);
	if (board)
		look_at_beats(w, board, now_ns);
	due_ns = due(w, board, now_ns);
	if (now_ns < due_ns)
		return;
	if (board && !w->first_node && (now_ns > due_ns + FAR_NS || shelter_lost(w->parent)))
		_exit(EXIT_INTERRUPTED);
	if (!atomic_compare_exchange_strong(&w->pen, &pen_free, PEN_WATCHDOG)) {
		/* The main thread is at the results, and no step of that has come to an end for a
		 * grace: their own limit is for runs that nobody has told to end. */
		due_ns += w->broken_ns ? atomic_load(&w->grace_ns) : 0;
		if (now_ns >= due_ns + bytes_ns(w)) {
			say_unpublished(w);
			end_all(w, board, EXIT_FAILED);
		}
		return;
	}
	if (speaks(w, board, now_ns))
		end_run(w, board, now_ns);
	atomic_store(&w->pen, PEN_FREE);
}

void watchdog_look(struct watchdog *w, bool signalled)
{
	pthread_mutex_lock(&w->looks);
	look(w, signalled);
	pthread_mutex_unlock(&w->looks);
}

void watchdog_break(struct watchdog *w, const struct invariant *broken)
{
	struct watchdog_board *board = atomic_load(&w->board);
	const struct log *log = atomic_load(&w->log);
	const char *slash = strrchr(broken->file, '/');
	uint32_t none = BROKEN_NONE;
	char said[WATCHDOG_TEXT_BYTES];

	snprintf(said, sizeof(said),
		 "%s: a fault of haul: %s (line %d of %s) does not hold, though %s",
		 board ? board->seats[w->seat].label : "the rank", broken->condition, broken->line,
		 slash ? slash + 1 : broken->file, broken->reason);
	if (log && !(board && w->first_node))
		log_say(log, LOG_ERROR, "%s", said);
	if (!board || !w->first_node)
		_exit(EXIT_FAILED);
	if (atomic_compare_exchange_strong(&board->broken, &none, BROKEN_WRITING)) {
		memcpy(board->broken_said, said, sizeof(said));
		atomic_store(&board->broken, BROKEN_SAID);
	}
	raise_to(&board->reason, STOP_ERROR);
	watchdog_look(w, false);
}

uint64_t watchdog_nap_ns(const struct watchdog *w)
{
	return w->reason ? LOOK_SOON_NS : LOOK_NS;
}
