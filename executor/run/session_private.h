// What the parts of a session share. Inside executor/run only.
#ifndef RB_EXECUTOR_SESSION_PRIVATE_H
#define RB_EXECUTOR_SESSION_PRIVATE_H

#include "executor/notify/notify.h"
#include "executor/run/clouds.h"
#include "executor/run/drift.h"
#include "executor/run/own_machine.h"
#include "executor/run/replanning.h"
#include "executor/run/session.h"
#include "executor/run/spot_choice.h"
#include "executor/run/standing.h"
#include "executor/search/search_program.h"
#include "executor/transport/loop_uv.h"
#include "samplers/follow.h"
#include "simulator/forecast/forecast.h"

struct rb_session {
    struct rb_run_files *files;
    struct rb_journal *journal;
    const struct rb_session_options *options;
    const struct rb_run_show *show;
    struct rb_session_host host; // uv NULL: it is alone, and loop and signals are its own
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_run_clouds clouds;
    int64_t noted_end_us[RB_RUN_INFRAS]; // of the credentials of each cloud, as was said; 0: nothing was
    int64_t deadline_us, budget_uusd; // of this run, as resumes have raised them
    struct rb_scenario scenario;      // of the forecasts
    struct rb_forecaster forecaster;  // scenario NULL: its policy asks for no forecasts
    struct rb_follower *follower;     // proposes configurations; NULL: the job names no sampler of ours
    struct rb_search_program *search; // likewise; NULL: the job names no program
    struct rb_notify *notify;         // NULL: the job has no hooks
    struct rb_own_machine machine;
    struct rb_controller *controller;
    struct rb_standing standing; // how it will end
    struct rb_drift_watch drift;       // from its plan
    struct rb_replanning replanning;   // where the job wants more than a warning
    struct rb_spot_choice *spot;       // NULL: not resources.spot: safe
    int64_t resumed_us;          // the last time, 0: never
    char asked[64];              // by rbrun replan: whom the answer is for; "": nothing was
    uint64_t look_timer;
    int events_fd;               // events.jsonl
    bool interrupted, left;      // the first time: clean up; the second: leave
    bool finished;
    enum rb_job_outcome outcome;
    enum rb_stop_reason reason;
    struct rb_err failure;
};

void rb_session_look(struct rb_session *s, struct rb_progress *out); // without a prediction

// session_foresee.c
void rb_session_take_request(struct rb_session *s); // of rbrun replan, if there is one
void rb_session_refuse(struct rb_session *s, const char *id, const struct rb_err *why); // id: of the request

#endif
