// Lets a run leave its plan (on_drift: replan, stop): when another plan is looked for (simulator/replan/replan.h), and
// what is done with it. Its answers follow from predictions alone.
#ifndef RB_EXECUTOR_REPLANNING_H
#define RB_EXECUTOR_REPLANNING_H

#include "executor/run/drift.h"
#include "simulator/replan/replan.h"

struct rb_replanning {
    enum rb_drift mode;          // RB_DRIFT_WARN: never
    double confidence;
    int first_ppm[2];            // millionths: probability of both limits at the first check, and at the first one with
                                 // a trial at work; -1: there was none
    struct rb_replan *search;    // the last one, NULL: none
    bool decided;                // it is over
    bool for_less;               // it looks for a cheaper plan, since the present one keeps its limits
    bool by_hand;                // it was asked for, with limits of its own
    double p_best;               // after it: of keeping both limits with the nodes that are followed
    int n_stages, below;         // that had begun at the last check; checks in a row
    int looked;                  // at which tenth of the stages' work a cheaper plan was looked for last; -1: never
    int64_t rests_until_us;      // for a surer one
    int n_hopeless;              // searches in a row
    bool said_hopeless;
    char noted[128];             // its last line for the journal
};

#define RB_REPLANNING_NOTE "replanning" // kind of these lines in the journal

enum rb_replan_verdict {
    RB_REPLAN_NOTHING,
    RB_REPLAN_TAKE, // the advice
    RB_REPLAN_SAY,  // that no plan keeps the confidence
    RB_REPLAN_STOP, // no plan has a chance
};

// Not a pool's job, whose nodes are decided elsewhere.
void rb_replanning_init(struct rb_replanning *r, const struct rb_plan *plan);
void rb_replanning_finish(struct rb_replanning *r);
bool rb_replanning_is_busy(const struct rb_replanning *r); // with a search, during which no other prediction may begin
// What a process that takes over must know, as a line for the journal. NULL: the last one still holds, or a search is
// under way, which that process would begin once more.
const char *rb_replanning_note(struct rb_replanning *r);
// Takes over from the process that wrote this line. One of another version changes nothing.
void rb_replanning_recall(struct rb_replanning *r, const char *line);
// A search at once, with the limits of *now, whatever the job says of drift. false: no other nodes can be had.
bool rb_replanning_ask(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now);
// After a complete prediction that *now contains. May begin a search.
void rb_replanning_check(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now);
// Works for some milliseconds on a search. *out_advice: an event without a time, valid until the next call; *out: one
// line for people. Both only with a verdict; the line of a search by hand also where nothing changes.
enum rb_replan_verdict rb_replanning_work(struct rb_replanning *r, struct rb_prediction *p, const struct rb_progress *now,
                                          struct rb_event *out_advice, struct rb_buf *out);

#endif
