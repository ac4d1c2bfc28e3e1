/* How other programs read checkpoints, as presets of options: parallel readers per rank, and the bytes of a read. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_READ_AS_H
#define HAUL_WORKLOADS_CHECKPOINT_READ_AS_H

extern const char *const checkpoint_read_as_names[];

/* Sets the options at into (struct checkpoint_options) to those of its read_as. */
void checkpoint_read_as_preset(void *into);

#endif
