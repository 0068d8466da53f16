// Finds what was left running: instances that carry the owner's tag and whose run no process executes.
//   gc.c         asks the clouds, ends what is left over
//   gc_places.c  lists where runs of this machine may have launched, and the runs for which that is unknown
//   gc_judge.c   decides whether an instance is left over, in use elsewhere, or not ours
#ifndef RB_EXECUTOR_GC_H
#define RB_EXECUTOR_GC_H

#include "executor/controller/lease.h"
#include "executor/journal/run_files.h"
#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

enum { RB_GC_MAX_INFRAS = 128 };
#define RB_GC_DEFAULT_AGE_US (300 * RB_US_PER_S)

// An instance that carries the owner's tag, or belongs to a run of this machine, and that no process of this machine
// uses.
struct rb_gc_instance {
    char id[128], run_id[128], instance_type[64], expires_at[40]; // expires_at "": no lease
    int64_t age_us;      // -1: the cloud does not report it
    int infra, tries;
    bool in_use;         // elsewhere, according to its lease: ended only if it is named
    bool named, ended;
};

// A run about which something is unknown.
struct rb_gc_unknown {
    char *run_id, *why; // why: a sentence with the next step
};

struct rb_gc {
    const char *const *named; // instances to end although a run elsewhere holds them, [n_named]
    int n_named;
    int64_t grace_us;         // younger instances are spared
    char root[4096], owner[160]; // the owner whose instances are looked for
    bool is_elsewhere;           // the owner is another user or host than ours
    char infras[RB_GC_MAX_INFRAS][64];
    struct rb_run_files *files[RB_GC_MAX_INFRAS]; // of a run whose job says where that is; NULL: the name does. Owned
    int n_infras;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider providers[RB_GC_MAX_INFRAS];
    bool clockless[RB_GC_MAX_INFRAS]; // this cloud does not show its clock, and that was reported
    int n_providers, n_waiting;
    struct rb_gc_instance *found;
    int n_found;
    int n_spared; // ours, but too young
    struct rb_gc_unknown *unknown;
    int n_unknown;
    char at_work[128]; // an instance that was named and whose run is executed here; "": none
    struct rb_err failure;
};

// Sets the owner whose instances are looked for: `given`, "user@host" as in the tag rb:owner, or this user if NULL.
bool rb_gc_choose_owner(struct rb_gc *gc, const char *given, struct rb_err *err);
// Lists the instances in the places added so far, and judges them; all_regions: in every region of these clouds.
bool rb_gc_look(struct rb_gc *gc, bool all_regions, struct rb_err *err);
// Checks that every named instance was found, and is not one of a run of this machine.
bool rb_gc_check_named(const struct rb_gc *gc, struct rb_err *err);
void rb_gc_end_instances(struct rb_gc *gc); // those for which rb_gc_ends is true
void rb_gc_end_groups(struct rb_gc *gc, bool dry);
// Removes ssh control directories of runs and campaigns that were killed and not resumed.
bool rb_gc_leave_control_dirs(struct rb_gc *gc, struct rb_err *err);
void rb_gc_finish(struct rb_gc *gc);

// Records an error and goes on: what cannot be listed or ended in one place is no reason to leave the others running.
// The command reports the first error.
void rb_gc_fail(struct rb_gc *gc, const struct rb_err *err);

// Adds each place once, whatever name it is given by. dir: of the run that launched there, NULL: none is known.
void rb_gc_add_infra(struct rb_gc *gc, const char *infra, const char *dir);
// Adds the places where the runs and campaigns below gc->root may have launched. An unreadable run becomes unknown,
// which is no error.
bool rb_gc_add_infras_of_runs(struct rb_gc *gc, struct rb_err *err);

void rb_gc_judge(struct rb_gc *gc, int infra, const struct rb_instance *i);
bool rb_gc_group_is_left_over(void *ctx, const struct rb_placement_group *g);
int rb_gc_count(const struct rb_gc *gc, bool in_use); // of those found
bool rb_gc_ends(const struct rb_gc_instance *f);      // left over, or named
bool rb_gc_is_certain(const struct rb_gc *gc);        // everything that exists was seen

#endif
