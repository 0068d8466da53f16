// What tuners that are built on asha need of it besides the interface of every tuner.
#ifndef RB_ENGINE_TUNERS_ASHA_H
#define RB_ENGINE_TUNERS_ASHA_H

// No trial is promoted above `level` until a later call raises it. Levels are those of rb_levels_of, counted from 0.
void rb_asha_cap(void *asha_state, int level);

#endif
