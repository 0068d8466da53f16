// A run's controller moves from one host to another, while its nodes train on. There is never more than one controller, even if a process is killed at any step:
//
//   host that it leaves (departure.h)            host where it goes (arrival.h)
//   1 its process leaves, and releases the
//     run's lock; nothing is ended
//   2 the journal says: LEAVING, epoch + 1
//     and an id; from here on it is not opened
//   3 a copy of the journal and the run's files
//     become one archive ────────────────────► 4 unpacked beside the runs, checked: digest, plan, secrets,
//                                                credentials, each cloud, the way to the nodes
//                                              5 the verdict, for good, under a lock: either the file refused-ID, or
//                                                the copy's journal says ARRIVED and the directory becomes that of the
//                                                run by one rename
//   6 the journal says AWAY, or HERE again ◄── 6 a controller resumes: the same journal, orders and tokens
//
// Every step may be repeated, with the same id. Between 2 and 6 this side cannot know whether the run has arrived, so it is not
// opened on the side that it leaves: only the other side's verdict, accepted or refused, ends that. A question for the
// verdict before there is one makes it a refusal. A process that is stopped has not left: it holds the lock, so step 2
// waits for it. So no controller can wake up beside another, and none has to ask before it sends.
//
// The nodes end themselves half an hour to an hour after the last controller; a move that takes longer loses them, and the
// next controller replaces them. Credentials of clouds do not move; secrets of the job go from memory to memory.
#ifndef RB_EXECUTOR_MOVE_H
#define RB_EXECUTOR_MOVE_H

#include "executor/away/detach.h"

enum { RB_MOVE_ID_BYTES = 33 };
// 32 hexadecimal digits? It becomes part of paths, and comes from the other host.
bool rb_move_check_id(const char *id, struct rb_err *err);

// A run on its way, on this host: the folder ROOT/moves/RUN, locked, so that one process at a time works on that side of a
// move. The sides have locks of their own: a host may be named that is this one.
enum rb_move_side { RB_MOVE_LEAVES, RB_MOVE_ARRIVES };
struct rb_move {
    char root[4096], run_id[128], dir[4400];
    int lock;
};
// Waits for the lock.
bool rb_move_open(const char *root, const char *run_id, enum rb_move_side side, struct rb_move *out,
                  struct rb_err *err);
void rb_move_close(struct rb_move *m);
void rb_move_clear(const struct rb_move *m); // removes what was packed or unpacked; verdicts stay
// The archive of a move, which is there once it was packed or has come.
void rb_move_archive(const struct rb_move *m, const char *id, char out[static 4480]);
bool rb_move_digest(const char *path, char out[static 65], struct rb_err *err); // of a file of any size

// What became of a move.
struct rb_move_answer {
    bool accepted;     // false: refused, for good
    struct rb_err why; // of a refusal; or why no process goes on with the run, code NONE: it does, or it is over
    struct rb_detached process; // that goes on with the run; pid 0: none
    char log[4480];
};
// {format: rb-moved/1 ...}. place: where the run is now.
void rb_move_answer_write(const struct rb_move_answer *a, const char *run_id, const char *place, struct rb_buf *out);
// Of another host's answer.
bool rb_move_answer_read(const char *from, const struct rb_buf *text, struct rb_move_answer *out, struct rb_err *err);

// Does the run need a controller? Not one that is over or stopped: it moves as it is.
bool rb_move_is_under_way(struct rb_journal *j, const struct rb_plan *plan, bool *out, struct rb_err *err);
// The run is here: a process goes on with it, this or another one, unless it is over. What prevents that is in out->why.
void rb_move_go_on(const struct rb_move *m, struct rb_move_answer *out);

// Crash tests: the process is killed at the step that RB_TEST_MOVE_DIES names (docs/HACKING.md).
void rb_move_step(const char *name);

#endif
