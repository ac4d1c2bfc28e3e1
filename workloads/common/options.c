/* Options that several kinds of phase share: see options.h. */
#include "workloads/common/options.h"

const char *const options_verify[] = {"none", "sampled", "full", NULL};
const char *const options_on_error[] = {"stop", "count", NULL};
