// Where a run goes on: its controller may move from one host to another (executor/away/move.h). Each move is a row of the
// journal, and the journal moves, too: both sides know the same moves by the same ids. The latest row says whether this
// journal may be written by a controller: rb_journal_open refuses one whose run is LEAVING or AWAY. Older versions refuse
// it because of its version. A journal without the table has never moved.
#ifndef RB_EXECUTOR_HANDOVER_H
#define RB_EXECUTOR_HANDOVER_H

#include "executor/journal/journal.h"

enum rb_handover_state {
    RB_HANDOVER_HERE,    // the run goes on here
    RB_HANDOVER_ARRIVED, // likewise, and no notice says so yet
    RB_HANDOVER_LEAVING, // no controller is here; whether the other side has accepted it is not known
    RB_HANDOVER_AWAY,    // the other side has accepted it
};

struct rb_handover {
    int64_t epoch;   // from 1; 0: it has never moved
    char id[33];     // of the move, 32 hexadecimal digits
    char place[320]; // where the run goes: "ssh:box", or who fetches it: "me@laptop"
    enum rb_handover_state state;
};

bool rb_handover_latest(struct rb_journal *j, struct rb_handover *out, struct rb_err *err);
// The state of the move with this id; false in *out_known: this journal does not know it.
bool rb_handover_find(struct rb_journal *j, const char *id, bool *out_known, enum rb_handover_state *out,
                      struct rb_err *err);
// A transaction of its own unless between begin and commit.
bool rb_handover_write(struct rb_journal *j, const struct rb_handover *h, struct rb_err *err);
static inline bool rb_handover_is_away(const struct rb_handover *h)
{
    return h->state == RB_HANDOVER_LEAVING || h->state == RB_HANDOVER_AWAY;
}
// Error RUN_MOVED: it says where the run is, and what to do.
bool rb_handover_refuse(const struct rb_handover *h, const char *run_id, struct rb_err *err);

#endif
