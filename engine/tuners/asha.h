// What tuners that are built on asha need of it besides the interface of every tuner.
#ifndef RB_ENGINE_TUNERS_ASHA_H
#define RB_ENGINE_TUNERS_ASHA_H

// Nobody is promoted to a level above `level` until it is raised. Levels are those of rb_levels_of, counted from 0.
void rb_asha_cap(void *asha_state, int level);

#endif
