/* Table of the kinds of phases that have sentences or tables of their own. A new kind needs a line
 * here and a file in this folder. */
#include "report/text/page.h"

const struct text_kind *const text_kinds[] = {&text_train, &text_plain_io, &text_streams, NULL};
