/* SPDX-License-Identifier: Apache-2.0 */
/* Run under MPI: see run.h. */
#include "ranks/run/run.h"

#include <errno.h>
#include <malloc.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/node_block.h"
#include "core/invariant.h"
#include "core/numbers.h"
#include "core/proc.h"
#include "plan/plan.h"
#include "ranks/mpi/group.h"
#include "ranks/mpi/polite.h"
#include "ranks/node/bind.h"
#include "ranks/run/driver.h"
#include "ranks/run/shelter.h"
#include "ranks/run/state.h"

enum { RUN_BLOCK_BYTES = 128 << 10 };

/* The name of this rank in messages about an error that only this rank meets. */
static void run_name(struct run *run)
{
	char host[sizeof(run->label) / 2] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	if (run->world->size == 1)
		return;
	snprintf(run->label, sizeof(run->label), "rank %u on %s", run->world->rank, host);
	run->world->label = run->label;
}

/* Keeps a rank small, because a node has many of them. malloc shall return blocks from this size on
 * to the system; left alone, it keeps such blocks once one has been freed. UCX makes receive
 * buffers for shared memory in steps of 512 and touches a page of each, for two transports; the
 * number of buffers still follows what is in flight. */
static void run_keep_small(void)
{
	mallopt(M_MMAP_THRESHOLD, RUN_BLOCK_BYTES);
	setenv("UCX_POSIX_RX_BUFS_GROW", "64", 0);
	setenv("UCX_SYSV_RX_BUFS_GROW", "64", 0);
}

/* Blocking calls of MPI leave their core to others where the node has more ranks than cores. MPICH
 * over UCX needs no setting for that; these are of MPICH 4.3 and later over any network, Intel MPI,
 * and Open MPI. */
static void run_be_polite(void)
{
	if (!polite_guess())
		return;
	setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1", 0);
	setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", "1", 0);
	setenv("I_MPI_THREAD_YIELD", "3", 0);
	setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

int run_begin(struct run **out, int *argc, char ***argv, struct err *err)
{
	pid_t parent = shelter_enter();
	struct run *run = calloc(1, sizeof(*run));
	int provided, rc;

	if (!run)
		return err_set(err, -ENOMEM, "no memory");
	clock_init(&run->clock);
	run->start_ns = run->lap_ns = clock_now(&run->clock);
	clock_learn_counter(&run->clock, CLOCK_SOURCE);
	run->started_utc_ns = clock_date_ns(&run->clock);
	/* All later threads inherit the timer slack: their sleeps end within microseconds, not
	 * within 50 of them. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	/* hwloc, MPI's own too, shall not go from core to core to ask each processor about itself,
	 * out of the set that the launcher gave. Linux tells the same. */
	setenv("HWLOC_COMPONENTS", "-x86", 0);
	run_keep_small();
	run_be_polite();
	watchdog_init(&run->watchdog, &run->stop);
	run->watchdog.parent = parent;
	rc = signals_start(&run->signals, &run->watchdog, err);
	if (rc < 0)
		goto out_free;
	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
	rc = mpi_group_world(&run->world, err);
	if (rc < 0)
		goto out_free;
	run_name(run);
	log_init(&run->log, STDERR_FILENO, LOG_INFO, run->world->rank, run->world->size);
	atomic_store(&run->watchdog.log, &run->log);
	if (run->world->rank == 0)
		mpi_group_set_log(run->world, &run->log, RUN_WAIT_SAID_NS);
	run_lap(run, OWN_MPI);
	*out = run;
	return 0;
out_free:
	free(run);
	return rc;
}

uint32_t run_rank(const struct run *run)
{
	return run->world->rank;
}

uint32_t run_ranks(const struct run *run)
{
	return run->world->size;
}

const char *run_message(const struct run *run)
{
	return run->message;
}

bool run_left_results(const struct run *run)
{
	return run->results_left;
}

void run_end(struct run *run)
{
	watchdog_close(&run->watchdog);
	sampler_close(run->sampler);
	backends_process_end(&run->stores_keep);
	job_free(&run->job);
	free(run->text);
	driver_free(run->driver);
	generated_free(&run->generated);
	series_free(&run->series);
	team_close(&run->whole);
	if (run->nodes.node)
		node_blocks_free(run->nodes.node);
	nodes_free(&run->nodes);
	group_free(run->world);
	watchdog_touch(&run->watchdog);
	/* The launcher takes part in the end of MPI. */
	if (!shelter_lost(run->watchdog.parent))
		MPI_Finalize();
	signals_end(&run->signals);
	free(run);
}

/* Rank 0 counts which ranks are on which node, and sends each rank its place. */
static int run_place(struct run *run, struct err *err)
{
	bool first = run->world->rank == 0;
	uint32_t *node_of = NULL, mine = run->nodes.index;
	struct rank_place *places = NULL;
	int rc = 0;

	if (first) {
		node_of = calloc(run->world->size, sizeof(*node_of));
		places = calloc(run->world->size, sizeof(*places));
		if (!node_of || !places)
			rc = err_set(err, -ENOMEM, "no memory for %u places", run->world->size);
	}
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		goto out_free;
	group_gather(run->world, &mine, sizeof(mine), node_of);
	if (first)
		rc = plan_places(&run->job, node_of, run->world->size, places, err);
	rc = group_agree(run->world, rc, err);
	if (rc == 0)
		rc = group_scatter(run->world, places, sizeof(*places), &run->place);
	INVARIANT(rc < 0 || run->place.world_rank == run->world->rank,
		  "each rank gets its own place");
out_free:
	free(node_of);
	free(places);
	return rc;
}

/* Each node proves that the stores are on the file systems that the job means, before the first
 * byte. */
static int run_stand(struct run *run, struct err *err)
{
	uint64_t nodes;
	int rc = stores_stand(run->job.stores, run->job.store_count, &run->place, err);

	nodes = rc < 0 && run->nodes.leaders;
	group_allreduce(run->world, MERGE_SUM, &nodes, 1);
	rc = group_agree(run->world, rc, err);
	if (rc < 0 && nodes > 1)
		return err_wrap(err, rc, "%llu of %u nodes, for one", (unsigned long long)nodes,
				run->nodes.count);
	return rc;
}

/* This rank's row of /ranks, with its processor time so far. */
static void run_describe(const struct run *run, struct rank_row *row)
{
	uint64_t alive;
	struct rusage used;

	memset(row, 0, sizeof(*row));
	row->place = run->place;
	memcpy(row->cores_found, run->cores_found, sizeof(row->cores_found));
	sched_times(&alive, &row->runnable_ns);
	if (getrusage(RUSAGE_SELF, &used) == 0)
		row->run_ns =
			(uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
			(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

/* Called again at the end, because the cost of the run is known only then. */
static void run_renew_ranks(struct run *run)
{
	struct rank_row row, *rows = NULL;
	struct err err = {0};
	int rc = 0;

	run_describe(run, &row);
	if (run->world->rank == 0) {
		rows = calloc(run->world->size, sizeof(*rows));
		if (!rows)
			rc = -ENOMEM;
	}
	/* Without memory for new rows, those of the start remain. */
	if (group_agree(run->world, rc, &err) == 0 &&
	    group_gather(run->world, &row, sizeof(row), rows) == 0 && rows)
		results_set_ranks(run->results, rows);
	free(rows);
}

/* Room for the names of phases in /summary. A phase within a phase has a short name of its own. */
static uint32_t run_name_bytes(const struct job *job)
{
	size_t longest = 11;

	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct job_phase *p = &job->phases[i];
		size_t bytes = strlen(p->name);

		if (p->together && p->together->alone)
			bytes += strlen(RESULTS_ALONE);
		longest = max_u64(longest, bytes);
	}
	return (uint32_t)longest + 1;
}

/* Creates results.h5 with the job, the nodes and the ranks. */
static int run_create_results(struct run *run, const struct run_options *options, struct err *err)
{
	struct results_head head = {
		.version = options->version,
		.build = options->build,
		.command_line = options->command_line,
		.job_name = run->job.name,
		.started_utc_ns = run->started_utc_ns,
		.started_ns = run->start_ns,
		.ranks = run->world->size,
		.nodes = run->nodes.count,
		.runs = series_runs(&run->series),
		.phases = run->job.phase_count,
		.name_bytes = run_name_bytes(&run->job),
		.sweep_bytes = run->series.sweep_count ? 0 : 1,
		.answer = run_has_rounds(run) ? ANSWER_FIND : run->driver->answer,
	};
	struct results_kept kept = {0};
	struct rank_row rank, *ranks = NULL;
	struct node_row node = {0}, *nodes = NULL;
	char *text = NULL;
	int rc = 0;

	run_describe(run, &rank);
	if (run->world->rank == 0) {
		text = job_text(&run->job, plan_schema());
		ranks = calloc(head.ranks, sizeof(*ranks));
		nodes = calloc(head.nodes, sizeof(*nodes));
		if (!text || !ranks || !nodes)
			rc = err_set(err, -ENOMEM, "no memory for the results' head");
	}
	run->results_path = options->results ? options->results : "results.h5";
	rc = group_agree(run->world, rc, err);
	if (rc == 0 && options->resume)
		rc = run_resume(run, options, text, &kept, err);
	if (rc < 0)
		goto out_free;
	head.kept = kept.phases ? &kept : NULL;
	head.job_text = text;
	group_gather(run->world, &rank, sizeof(rank), ranks);
	if (run->nodes.leaders) {
		nodes_describe(&run->nodes, sampler_facts(run->sampler), &node);
		group_gather(run->nodes.leaders, &node, sizeof(node), nodes);
	}
	run_watch_write(run);
	rc = results_create(&run->results, run->results_path, options->force || options->resume,
			    mpi_group_comm(run->world), run->world, &head, nodes, ranks, err);
	run_unwatch_write(run);
	if (rc == 0 && !results_owned(run->results))
		log_say(&run->log, LOG_WARNING,
			"%s: its file system has no locks, so nothing keeps another run from writing it",
			run->results_path);
	if (rc == 0)
		results_set_own(run->results, &run->own);
	if (rc == 0 && (options->one_file || options->side_files))
		results_set_join(run->results,
				 options->one_file ? RESULTS_JOIN_ALWAYS : RESULTS_JOIN_NEVER);
out_free:
	free(text);
	free(ranks);
	free(nodes);
	return rc;
}

/* Rank 0 opens the file of the live figures. Collective. */
static int run_open_live(struct run *run, const struct run_options *options, struct err *err)
{
	int rc = 0;

	run->live.fd = -1;
	if (options->live && run->world->rank == 0) {
		rc = live_open(&run->live, options->live, &run->log, err);
	}
	return group_agree(run->world, rc, err);
}

/* From here on the ranks of a node know of each other whether they move. */
static int run_watch(struct run *run, const struct run_options *options, struct err *err)
{
	struct group *groups[] = {run->world, run->nodes.node, run->nodes.leaders};
	struct watchdog *w = &run->watchdog;
	int rc = watchdog_open(w, &run->nodes, run->label, err);

	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (groups[i])
			mpi_group_set_watched(groups[i], watchdog_hear, w, watchdog_beat(w));
	w->words = (struct watchdog_words){.speak = run_last_words, .argument = run};
	if (options->grace_ns)
		atomic_store(&w->grace_ns, options->grace_ns);
	if (options->deadline_ns)
		atomic_store(&w->deadline_ns, run->start_ns + options->deadline_ns);
	return 0;
}

/* A launcher of another MPI starts each rank as a world of one, and all of them share one results
 * file. */
static int run_check_launcher(const struct run *run, struct err *err)
{
	static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
					    "PMI_SIZE"};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		const char *told = getenv(sizes[i]);
		unsigned long ranks = told ? strtoul(told, NULL, 10) : 0;

		if (ranks > run->world->size)
			return err_set(
				err, -EINVAL,
				"the launcher has started %lu ranks (%s), but MPI sees %u: it is not "
				"that of haul's MPI (haul version names it); take the mpiexec of that "
				"MPI, srun --mpi=pmi2 or pmix, or, for the MPICH of Ubuntu 24.04, "
				"mpirun.openmpi",
				ranks, sizes[i], run->world->size);
	}
	return 0;
}

/* Binds this rank to its cores, after which it is known whether the node is crowded, and aligns the
 * clocks. */
static int run_settle(struct run *run, struct err *err)
{
	bool crowded = true;
	int rc;

	rc = bind_rank(&run->nodes, &run->job.cluster, &run->log, run->cores_found, &run->place.gpu,
		       &crowded, err);
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		return rc;
	run->clock.spin = !crowded;
	polite_set_crowded(crowded);
	mpi_group_set_patient(run->world, crowded);
	mpi_group_set_patient(run->nodes.node, crowded);
	node_status_set_crowded(&run->nodes.node_status, crowded);
	run_lap(run, OWN_NODES);
	rc = team_open_whole(&run->whole, &run->nodes, run->world, err);
	rc = group_agree(run->world, rc, err);
	if (rc == 0)
		rc = nodes_align(&run->nodes, err);
	run_lap(run, OWN_CLOCKS);
	return rc;
}

/* All preparation between accepting the job and the first phase. */
static int run_prepare(struct run *run, const struct run_options *options, enum exit_status *status,
		       struct err *err)
{
	int rc;

	*status = EXIT_USAGE;
	rc = group_agree(run->world, run_check_launcher(run, err), err);
	if (rc == 0)
		rc = nodes_find(&run->nodes, run->world, options->fake_nodes, err);
	if (rc == 0)
		rc = run_watch(run, options, err);
	run_lap(run, OWN_NODES);
	if (rc == 0)
		rc = group_agree(run->world,
				 series_init(&run->series, options->sweeps, options->sweep_count,
					     options->repeat ? options->repeat : 1, options->warmup,
					     err),
				 err);
	run->series.interleave = options->interleave;
	if (rc == 0)
		rc = group_agree(run->world, driver_open(run, options, err), err);
	if (rc == 0)
		rc = run_share_job(run, options, err);
	if (rc == 0)
		rc = group_agree(run->world, driver_meet(run, err), err);
	if (rc == 0)
		rc = group_agree(run->world, run_series_of_job(run, options, err), err);
	if (rc == 0)
		rc = run_place(run, err);
	if (rc == 0)
		rc = run_open_live(run, options, err);
	run_lap(run, OWN_JOB);
	if (rc < 0)
		return rc;
	*status = EXIT_FAILED;
	rc = run_stand(run, err);
	if (rc < 0)
		return rc;
	rc = node_blocks_reserve(run->nodes.node, run->job.stores, run->job.store_count, err);
	rc = group_agree(run->world, rc, err);
	run_lap(run, OWN_STORES);
	if (rc < 0)
		return rc;
	rc = run_settle(run, err);
	if (rc < 0 || options->verb == RUN_CLEAN ||
	    (options->verb == RUN_GENERATE && !options->results))
		return rc;
	rc = sampler_open(&run->sampler, run->nodes.node, &run->log, err);
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		return rc;
	rc = run_op_log_open(run, options, err);
	if (rc == 0)
		rc = run_create_results(run, options, err);
	run_lap(run, OWN_FILE);
	if (rc < 0)
		run_op_log_discard(run);
	if (rc == -EEXIST || rc == -EBUSY)
		*status = EXIT_USAGE;
	return rc;
}

/* The last publication. A run that failed before it measured anything leaves no file, or keeps the
 * older one. */
static void run_finish_results(struct run *run, int rc, enum exit_status *status, struct err *err)
{
	enum results_status end = *status == EXIT_INTERRUPTED ? RESULTS_INTERRUPTED
				  : *status == EXIT_FAILED    ? RESULTS_FAILED
							      : RESULTS_DONE;
	struct err late = {0};

	if (*status == EXIT_FAILED && !run->measured) {
		results_discard(run->results);
	} else {
		run_renew_ranks(run);
		run_watch_write(run);
		run_lap(run, OWN_END);
		if (results_finish(run->results, end, rc < 0 ? err->text : "", &late) < 0 &&
		    *status != EXIT_FAILED) {
			*err = late;
			*status = EXIT_FAILED;
		}
		run_unwatch_write(run);
	}
	run->results_left = results_stand(run->results);
	results_free(run->results);
	run->results = NULL;
}

enum exit_status run_job(struct run *run, const struct run_options *options, bool *speak,
			 struct err *err)
{
	enum exit_status status;
	int rc;

	*speak = run->world->rank == 0;
	rc = run_prepare(run, options, &status, err);
	if (rc < 0)
		return status;
	if (options->verb == RUN_CLEAN)
		return options->assess ? run_clean_made(run, options->job, err)
				       : run_clean(run, options->job, err);
	if (options->alone && run->world->size == 1)
		log_say(&run->log, LOG_WARNING,
			"1 rank; start it under mpiexec (or srun) for more");
	rc = driver_run(run, options, &status, err);
	/* As with the results: a run that has measured nothing leaves an older log as it was. */
	if (status == EXIT_FAILED && !run->measured)
		run_op_log_discard(run);
	else
		run_op_log_close(run, options);
	if (run->results)
		run_finish_results(run, rc, &status, err);
	live_close(&run->live);
	return status;
}
