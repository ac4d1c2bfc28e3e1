/* What is not known of a library is not here: haul's own default stays. docs/stores-objects-requests.md has the same table, and
 * what options cannot express. */
#include "backends/http/profile.h"

#include <errno.h>
#include <string.h>

const char *const client_names[] = {
	[CLIENT_HAUL] = "haul",
	[CLIENT_S3DLIO] = "s3dlio",
	[CLIENT_S3TORCHCONNECTOR] = "s3torchconnector",
	[CLIENT_MINIO] = "minio",
	NULL,
};

/* 0 stands for haul's default. */
struct profile {
	uint64_t split_from, range;
	uint64_t put_whole, part;
	uint64_t in_flight;
	uint64_t attempts, connect_ns;
	enum http_split split;
	bool s3_only, head;
	bool sha256; /* hashes what is written into its signature */
};

static const struct profile profiles[] = {
	[CLIENT_HAUL] = {0},
	[CLIENT_S3DLIO] =
		{
			.head = true,
			.split_from = 32 << 20,
			.put_whole = (32 << 20) - 1,
			.part = 16 << 20,
			.in_flight = 32,
			.attempts = 3,
			.connect_ns = 20000000000,
		},
	[CLIENT_S3TORCHCONNECTOR] =
		{
			.s3_only = true,
			.range = 8 << 20,
			.part = 8 << 20,
			.in_flight = 25,
		},
	[CLIENT_MINIO] =
		{
			.s3_only = true,
			.split = SPLIT_OFF,
			.part = 32 << 20,
			.in_flight = 3,
			.attempts = 6,
			.sha256 = true,
		},
};

static void profile_set(uint64_t *option, uint64_t value)
{
	if (value)
		*option = value;
}

void client_preset(void *into)
{
	struct http_options *o = into;
	const struct profile *p = &profiles[o->client];

	o->head_on_open = p->head;
	o->split = p->split;
	o->payload = p->sha256;
	profile_set(&o->split_from, p->split_from);
	profile_set(&o->common.transfer, p->range);
	profile_set(&o->put_whole, p->put_whole);
	profile_set(&o->part, p->part);
	profile_set(&o->in_flight, p->in_flight);
	profile_set(&o->retry.attempts, p->attempts);
	profile_set(&o->connect_ns, p->connect_ns);
}

int client_check(const struct http_options *o, const char *path, struct err *err)
{
	if (!profiles[o->client].s3_only || strncmp(o->common.uri.items[0], "s3:", 3) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s/client: %s knows only s3://", path,
		       client_names[o->client]);
}
