// The host that a moving run leaves (executor/away/move.h, steps 1 to 3 and 6).
#ifndef RB_EXECUTOR_DEPARTURE_H
#define RB_EXECUTOR_DEPARTURE_H

#include "executor/away/move.h"
#include "executor/journal/handover.h"

struct rb_departure {
    struct rb_handover move;        // LEAVING
    char archive[4480], digest[65]; // of the archive's bytes
};

// Does the run know where it is? epoch 0: it has never moved.
bool rb_departure_look(const struct rb_run_files *f, struct rb_handover *out, struct rb_err *err);
// Its process leaves, its journal says so, and its archive is packed. Repeated for the same place: the same move again.
// Errors before the journal says it: MOVE_UNFIT, LEAVE_SILENT and others; the run is here.
bool rb_depart(struct rb_move *m, const char *place, struct rb_departure *out, struct rb_err *err);
// The other side has decided. Refused: a process here goes on with the run, and *answer names it, with the reason of the
// refusal. Repeated: nothing more.
bool rb_depart_settle(struct rb_move *m, const char *id, struct rb_move_answer *answer, struct rb_err *err);

#endif
