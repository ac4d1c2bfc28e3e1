/* NeXus plots: see nexus.h. */
#include "results-schema/nexus.h"

#include "results-schema/h5.h"

int nexus_write(hid_t group, const struct nexus *n, struct err *err)
{
	int rc = h5_attr_text(group, "NX_class", "NXdata", err);

	if (rc == 0)
		rc = h5_attr_text(group, "signal", n->signal, err);
	if (rc == 0)
		rc = h5_attr_texts(group, "axes", n->axes, n->axis_count, err);
	if (rc == 0 && n->more_count)
		rc = h5_attr_texts(group, "auxiliary_signals", n->more, n->more_count, err);
	if (rc == 0)
		rc = h5_attr_text(group, "title", n->title, err);
	return rc;
}
