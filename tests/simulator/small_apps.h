// A folder of one made-up application, small enough to follow by hand: `toy`, initial batch 10, at most 40, 1 to 10 samples a
// GPU, two epochs that end at progress 100.5 and 200. Its gradients carry no noise, so an iteration makes one step of progress
// whatever its batch. Nodes of two GPUs: 1 s an iteration on one GPU, 0.6 on two of one node, 0.75 on two nodes, and 0.5 on
// three or four GPUs of two nodes.
#ifndef RB_TESTS_SMALL_APPS_H
#define RB_TESTS_SMALL_APPS_H

#include "base/arena.h"
#include "base/text/units.h"
#include "simulator/cluster/trace.h"

struct small_apps {
    char dir[64];
    struct rb_arena arena; // paths
    struct rb_apps apps;
    struct rb_trace trace;
};

// Writes the folder; nothing is loaded yet.
void small_apps_write(struct small_apps *s);
// Writes one file of it again, "traces/toy/placements.csv".
const char *small_apps_put(struct small_apps *s, const char *name, const char *text);
// Loads it, and a trace of these rows (without the header: name,time,application,num_replicas,batch_size). Fails the test.
void small_apps_load(struct small_apps *s, const char *rows);
void small_apps_finish(struct small_apps *s); // and removes the folder

#endif
