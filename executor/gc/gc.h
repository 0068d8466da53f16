// Finds what was left running: instances that carry the owner's tag and whose run no process executes.
//   gc.c         asks the clouds, ends what is left over
//   gc_places.c  lists where runs of this machine may have launched, and the runs for which that is unknown
//   gc_judge.c   decides whether an instance is left over, in use elsewhere, or not ours
//   gc_expired.c the same for a watchdog, which goes by leases alone
#ifndef RB_EXECUTOR_GC_H
#define RB_EXECUTOR_GC_H

#include "executor/controller/lease.h"
#include "executor/journal/run_files.h"
#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

enum { RB_GC_MAX_INFRAS = 128, RB_GC_MAX_OWNERS = 32 };
#define RB_GC_DEFAULT_AGE_US (300 * RB_US_PER_S)
#define RB_GC_DEFAULT_LAPSE_US (600 * RB_US_PER_S)

// An instance that carries the owner's tag, or belongs to a run of this machine, and that no process of this machine
// uses.
struct rb_gc_instance {
    char id[128], run_id[128], instance_type[64], expires_at[40]; // expires_at "": no lease
    int64_t age_us;      // -1: the cloud does not report it
    int infra, tries;
    bool in_use;         // elsewhere, according to its lease: ended only if it is named
    bool lapsed;         // in use for a watchdog: its lease has lapsed, but not for grace_us yet
    bool named, ended;
};

// A run about which something is unknown.
struct rb_gc_unknown {
    char *run_id, *why; // why: a sentence with the next step
};

struct rb_gc {
    const char *const *named; // instances to end although a run elsewhere holds them, [n_named]
    int n_named;
    bool by_lease;            // a watchdog: leases alone decide, and no run of this machine is looked at
    int64_t grace_us;         // younger instances are spared; by_lease: those whose lease has not lapsed for this long
    char root[4096];
    char owners[RB_GC_MAX_OWNERS][160]; // whose instances are looked for, [n_owners]
    int n_owners;
    bool is_elsewhere;        // one of them is another user or host than ours
    // One line for each trouble: the place or the instance. of_last_round: those that were reported and need not be
    // repeated; NULL: this round is the only one.
    struct rb_buf troubles;
    const char *of_last_round;
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

// Adds an owner whose instances are looked for: `given`, "user@host" as in the tag rb:owner, or this user if NULL.
bool rb_gc_add_owner(struct rb_gc *gc, const char *given, struct rb_err *err);
// Lists the instances in the places added so far, and judges them; all_regions: in every region of these clouds.
bool rb_gc_look(struct rb_gc *gc, bool all_regions, struct rb_err *err);
// Checks that every named instance was found, and is not one of a run of this machine.
bool rb_gc_check_named(const struct rb_gc *gc, struct rb_err *err);
void rb_gc_end_instances(struct rb_gc *gc); // those for which rb_gc_ends is true
void rb_gc_end_groups(struct rb_gc *gc, bool dry);
// Removes ssh control directories, and ends containers on this machine, of runs and campaigns that were killed and not resumed.
bool rb_gc_leave_nothing_here(struct rb_gc *gc, struct rb_err *err);
void rb_gc_finish(struct rb_gc *gc);

// Records an error and goes on: what cannot be listed or ended in one place is no reason to leave the others running.
// what: the place or the instance. The command reports the first error; of several rounds each error is reported here,
// once for as long as it lasts.
void rb_gc_fail(struct rb_gc *gc, const char *what, const struct rb_err *err);
// Notes a trouble with a place or an instance; true: it has not been reported yet.
bool rb_gc_is_news(struct rb_gc *gc, const char *what);

// Adds each place once, whatever name it is given by. dir: of the run that launched there, NULL: none is known.
void rb_gc_add_infra(struct rb_gc *gc, const char *infra, const char *dir);
// Adds the places where the runs and campaigns below gc->root may have launched. An unreadable run becomes unknown,
// which is no error.
bool rb_gc_add_infras_of_runs(struct rb_gc *gc, struct rb_err *err);

void rb_gc_judge(struct rb_gc *gc, int infra, const struct rb_instance *i);
void rb_gc_judge_by_lease(struct rb_gc *gc, int infra, const struct rb_instance *i);
// For both judges: an instance that is reported, and what its place shows.
struct rb_gc_instance *rb_gc_add_found(struct rb_gc *gc, int infra, const struct rb_instance *i, bool in_use);
int64_t rb_gc_clock_us(const struct rb_gc *gc, int infra); // the cloud's, -1: unknown
void rb_gc_warn_clockless(struct rb_gc *gc, int infra);
bool rb_gc_is_owner(const struct rb_gc *gc, const char *owner);
bool rb_gc_group_is_left_over(void *ctx, const struct rb_placement_group *g);
int rb_gc_count(const struct rb_gc *gc, bool in_use); // of those found
bool rb_gc_ends(const struct rb_gc_instance *f);      // left over, or named
bool rb_gc_is_certain(const struct rb_gc *gc);        // everything that exists was seen

#endif
