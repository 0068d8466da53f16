// The host where a moving run goes (executor/away/move.h, steps 4 to 6).
#ifndef RB_EXECUTOR_ARRIVAL_H
#define RB_EXECUTOR_ARRIVAL_H

#include "executor/away/move.h"

// The archive of the move is here, and its digest is right. The verdict, and a process that goes on with the run if it is
// accepted. Repeated: the same verdict, and a process again where there is none. take_secrets: puts the values of the job's
// secrets into the environment; NULL: they are there. Errors: no verdict yet.
bool rb_arrive(struct rb_move *m, const char *id, bool (*take_secrets)(const struct rb_job *job, struct rb_err *err),
               struct rb_move_answer *out, struct rb_err *err);
// Asks for the verdict of a move that may not have arrived: without one, it is refused from now on.
bool rb_arrival_verdict(struct rb_move *m, const char *id, struct rb_move_answer *out, struct rb_err *err);

#endif
