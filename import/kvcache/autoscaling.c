/* Autoscaling of MLPerf's key-value cache benchmark. It changes no load there; the options of haul do what its flags and keys
 * promise. */
#include <cjson/cJSON.h>

#include "import/kvcache/kvc.h"

static const double users_most = 10000;

static const struct {
	const char *from, *to;
	double scale;
	bool unused; /* the original has a constant in its place */
} settings[] = {
	{"target-saturation", "autoscaling.target", 1, false},
	{"autoscaler.min_users", "autoscaling.users_min", 1, false},
	{"autoscaler.scale_up_factor", "autoscaling.up", 1, true},
	{"autoscaler.scale_down_factor", "autoscaling.down", 1, true},
	{"autoscaler.consecutive_samples_required", "autoscaling.samples", 1, true},
	{"saturation_detection.read_latency_p95_threshold_ms", "autoscaling.read_p95", 0.001, true},
	{"saturation_detection.write_latency_p95_threshold_ms", "autoscaling.write_p95", 0.001,
	 true},
	{"saturation_detection.queue_depth_threshold", "autoscaling.waiting", 1, true},
	{"saturation_detection.history_window_size", "autoscaling.history", 1, true},
};

/* Why there can be none; NULL: there can. */
static const char *autoscaling_refused(const struct kvc *k)
{
	if (!kvc_true(k, "enable-autoscaling"))
		return "there is no enable-autoscaling";
	if (kvc_recorded(k))
		return "the requests are recorded, so there are no users to change";
	if (kvc_at(k, "io-trace-log"))
		return "a trace has no latencies to decide by";
	return NULL;
}

static void autoscaling_leave(struct kvc *k, const char *why)
{
	static const char *const parts[] = {"enable-autoscaling", "autoscaler-mode",
					    "target-saturation", "autoscaler",
					    "saturation_detection"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (kvc_at(k, parts[i]))
			kvc_find(k, IMPORT_LEFT, parts[i], why);
}

void kvc_add_autoscaling(struct kvc *k)
{
	const char *why = autoscaling_refused(k);
	double users = kvc_number(k, "num-users", 100);
	double most = kvc_number(k, "autoscaler.max_users", users_most);

	if (why) {
		autoscaling_leave(k, why);
		return;
	}
	kvc_put(k, "autoscaling.mode", cJSON_CreateString(kvc_text(k, "autoscaler-mode", "qos")));
	kvc_put_number(k, "autoscaling.users_max", most > users ? most : users);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const char *from = settings[i].from;

		if (!kvc_at(k, from))
			continue;
		kvc_put_number(k, settings[i].to, kvc_number(k, from, 0) * settings[i].scale);
		if (settings[i].unused)
			kvc_find(k, IMPORT_CHANGED, from,
				 "the original reads it and decides nothing by it; haul does");
	}
	kvc_find(k, IMPORT_CHANGED, "enable-autoscaling",
		 "the original starts and stops no user, so it changes no load; haul does");
}
