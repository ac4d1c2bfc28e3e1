/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before and after the data in a page: template, styles, scripts and the library that
 * draws. The build makes both from the files of this folder (cmake/EmbedPage.cmake). They have no
 * zero byte at their end. */
#ifndef HAUL_REPORT_HTML_PARTS_H
#define HAUL_REPORT_HTML_PARTS_H

#include <stddef.h>

extern const unsigned char page_before[], page_after[];
extern const size_t page_before_bytes, page_after_bytes;

#endif
