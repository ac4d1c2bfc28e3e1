/* SPDX-License-Identifier: Apache-2.0 */
/* Options for retries: see retry.h. */
#include "backends/retry.h"

const struct option retry_option_table[] = {
	OPT_U64("attempts", struct retry_options, attempts, .def = 10, .min = 1, .max = 1000,
		.help = "the greatest number of attempts at a request, including the first"),
	OPT_TIME("first", struct retry_options, first_ns, .def = 50000000, .min = 1,
		 .max = 3600000000000,
		 .help = "bound of the random wait before the second attempt, doubled for each "
			 "further one"),
	OPT_TIME("longest", struct retry_options, longest_ns, .def = 5000000000, .min = 1,
		 .max = 3600000000000, .help = "bound of any wait that the store did not ask for"),
	OPT_TIME("patience", struct retry_options, patience_ns, .def = 60000000000,
		 .max = 86400000000000,
		 .help = "bound of a wait that the store asks for (Retry-After)"),
	OPT_U64("budget", struct retry_options, budget, .def = 1000, .max = 1 << 30,
		.help = "total further attempts per thread, to which a tenth of the successes is added; "
			"0: unlimited"),
	OPT_END,
};
