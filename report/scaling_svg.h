/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of a scaling table as SVG, for a slide: AU and bytes per second and node beside each
 * other, a line per series with its intervals, over the numbers of nodes on an axis of
 * logarithms. */
#ifndef HAUL_REPORT_SCALING_SVG_H
#define HAUL_REPORT_SCALING_SVG_H

#include "report/scaling.h"

/* The caller frees the text. NULL: no memory. */
char *scaling_svg(const struct scaling *s);

#endif
