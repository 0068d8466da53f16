// What was left running: instances that carry the owner's tag, and whose run no process carries out any more.
//   gc.c         asks the clouds, ends what is left over
//   gc_places.c  where runs of this machine may have launched, and of which of them that is not known
//   gc_judge.c   what an instance is: left over, in use elsewhere, or none of our business
#ifndef RB_EXECUTOR_GC_H
#define RB_EXECUTOR_GC_H

#include "executor/controller/lease.h"
#include "executor/journal/run_files.h"
#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

enum { RB_GC_MAX_INFRAS = 128 };
#define RB_GC_DEFAULT_AGE_US (300 * RB_US_PER_S)

// One that carries the owner's tag, or belongs to a run of this machine, and that no process of this machine uses.
struct rb_gc_instance {
    char id[128], run_id[128], instance_type[64], expires_at[40]; // expires_at "": no lease
    int64_t age_us;      // -1: the cloud does not say
    int infra, tries;
    bool in_use;         // elsewhere, as its lease says: ended only if it is named
    bool named, ended;
};

// A run of which not everything is known.
struct rb_gc_unknown {
    char *run_id, *why; // why: a sentence, with what to do
};

struct rb_gc {
    const char *const *named; // instances that are ended although a run elsewhere holds them, [n_named]
    int n_named;
    int64_t grace_us;         // what is younger is spared
    char root[4096], owner[160]; // whose instances are looked for
    bool is_elsewhere;           // that is not who asks
    char infras[RB_GC_MAX_INFRAS][64];
    int n_infras;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider providers[RB_GC_MAX_INFRAS];
    bool clockless[RB_GC_MAX_INFRAS]; // this cloud does not show its clock, and that was said
    int n_providers, n_waiting;
    struct rb_gc_instance *found;
    int n_found;
    int n_spared; // ours, but too young
    struct rb_gc_unknown *unknown;
    int n_unknown;
    char at_work[128]; // an instance that was named and whose run is carried out here; "": none
    struct rb_err failure;
};

// Whose instances: `given`, "user@host" as the tag rb:owner has it, or this user's where it is NULL.
bool rb_gc_choose_owner(struct rb_gc *gc, const char *given, struct rb_err *err);
// Lists what there is in the places added so far, and judges it; all_regions: in every region of these clouds.
bool rb_gc_look(struct rb_gc *gc, bool all_regions, struct rb_err *err);
// Every instance that was named is in sight, and is not one of a run of this machine.
bool rb_gc_check_named(const struct rb_gc *gc, struct rb_err *err);
void rb_gc_end_instances(struct rb_gc *gc); // those that rb_gc_ends
void rb_gc_end_groups(struct rb_gc *gc, bool dry);
// ssh control directories of runs and campaigns that were killed and not resumed.
bool rb_gc_leave_control_dirs(struct rb_gc *gc, struct rb_err *err);
void rb_gc_finish(struct rb_gc *gc);

// What cannot be looked at or ended somewhere is no reason to leave the others running: the first is the command's error.
void rb_gc_fail(struct rb_gc *gc, const struct rb_err *err);

// Once for each place, whatever it is called.
void rb_gc_add_infra(struct rb_gc *gc, const char *infra);
// Where the runs and campaigns below gc->root may have launched. What cannot be read is unknown, and no error.
bool rb_gc_add_infras_of_runs(struct rb_gc *gc, struct rb_err *err);

void rb_gc_judge(struct rb_gc *gc, int infra, const struct rb_instance *i);
bool rb_gc_group_is_left_over(void *ctx, const struct rb_placement_group *g);
int rb_gc_count(const struct rb_gc *gc, bool in_use); // of those found
bool rb_gc_ends(const struct rb_gc_instance *f);      // left over, or named
bool rb_gc_is_certain(const struct rb_gc *gc);        // all of what there is was seen

#endif
