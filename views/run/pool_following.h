// Follows a pool from outside: the run that owns the nodes and the runs of its jobs, each from its own journal.
// pool.json says which jobs have begun; the journals hold the rest.
#ifndef RB_VIEWS_POOL_FOLLOWING_H
#define RB_VIEWS_POOL_FOLLOWING_H

#include "executor/pool/pool_report.h"
#include "profiles/job/pool_file.h"
#include "views/live/pool_progress.h"
#include "views/run/following.h"

struct rb_pool_following_job {
    struct rb_following following;
    bool has_begun; // else there is nothing to follow yet
};

struct rb_pool_following {
    const char *state_dir;
    struct rb_following owner;
    struct rb_arena arena; // of the last look: the contents of pool.json, and what is shown of it
    struct rb_pool_file file;
    struct rb_pool_following_job *jobs; // [n]
    int n;                              // 0: the run is no pool
    bool ended;                         // the caller knows that no more jobs will arrive
    struct rb_pool_progress progress;   // of the last look
};

// Opens any run: for one that is no pool, only `owner` is filled in. p must not move. Finish with
// rb_pool_following_finish, also after a failure. state_dir, run: as for rb_run_files_open.
bool rb_pool_following_open(struct rb_pool_following *p, const char *state_dir, const char *run,
                            struct rb_err *err);
void rb_pool_following_finish(struct rb_pool_following *p);

// rb_following_look at the owner and at every job that has begun: p->owner.screen describes the pool.
bool rb_pool_following_look(struct rb_pool_following *p, bool settle, struct rb_err *err);
// Reads only one job, for a look at that; NOT_FOUND: it has not begun.
bool rb_pool_following_take_in(struct rb_pool_following *p, int job, struct rb_err *err);

// The pool's report so far, rb-pool-report/1, as of the last look. In the arena.
struct rb_pool_report rb_pool_following_report(struct rb_pool_following *p);

#endif
