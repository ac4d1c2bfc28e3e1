/* The kinds of phases that have sentences or tables of their own. A new kind is a line here and a file beside. */
#include "report/text/page.h"

const struct text_kind *const text_kinds[] = {&text_train, &text_plain_io, NULL};
