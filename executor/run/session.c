// The wiring between a run on disk and the real world.
#include "executor/run/session_private.h"

#include "base/errors/exit_codes.h"
#include "base/file.h"
#include "base/errors/log.h"
#include "engine/core/policy.h"
#include "executor/away/detach.h"
#include "executor/journal/handover.h"
#include "executor/report/report.h"
#include "executor/run/learn.h"
#include "executor/run/limits.h"
#include "executor/run/limits_request.h"
#include "executor/run/stop.h"
#include "executor/search/earlier.h"
#include "executor/transport/ssh_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NEAR_POLL_US = 200000, // a cloud on loopback
    FAR_POLL_US = 5000000, // a real one: far below its request limits
    NEAR_RECONNECTS = 5,      // about 8 s: a node on loopback that does not answer is gone
    NEAR_CAPACITY_RETRIES = 6,
    FAR_CAPACITY_RETRIES = 10, // with back-off: about a minute
    NEAR_UNSEEN_S = 10, // a node that is gone: the reconnects above
    FAR_UNSEEN_S = 60,
    LOOK_AHEAD_US = 1000000,   // a hundredth of a core at most
    REPLANNING_US = 20000,     // half of a core: what it searches for is urgent
};

static const int64_t credentials_notice_us = 3600 * RB_US_PER_S; // time to log in again

void rb_run_show_wipe(const struct rb_run_show *show)
{
    if (show && show->wipe)
        show->wipe(show->ctx);
}

// --- what the controller asks for

static struct rb_launcher *make_launcher(void *ctx, const struct rb_launcher_events *events)
{
    struct rb_session *s = ctx;
    const struct rb_launcher_config config = {
        .loop = s->loop,
        .job = s->files->plan.job,
        .run_id = s->files->run_id,
        .run_dir = s->files->dir,
        .workdir = s->files->workdir,
        .reconnects = s->clouds.near ? NEAR_RECONNECTS : 0,
        .containers = s->files->plan.containers,
        .n_containers = s->files->plan.n_containers,
        .find_machine = s->host.find_machine,
        .machine_ctx = s->host.ctx,
        .events = *events,
    };
    return rb_launcher_create(&config);
}

static const char *secret(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

// A journal that cannot be written ends the run by itself.
static bool permit(void *ctx, int64_t now_us, struct rb_err *err)
{
    const struct rb_session *s = ctx;
    return rb_permit_spend(s->options->permit, s->journal, now_us, err);
}

// --- progress

void rb_session_look(struct rb_session *s, struct rb_progress *out)
{
    int64_t reserved;
    rb_progress_of_engine(rb_controller_engine(s->controller), &s->files->plan, out);
    rb_controller_spend(s->controller, &out->spent_uusd, &reserved);
    out->elapsed_us = rb_controller_now_us(s->controller);
    out->deadline_us = s->deadline_us;
    out->budget_uusd = s->budget_uusd;
}

// --- notices for the job's hooks

static void look_for_notice(void *ctx, struct rb_progress *out)
{
    rb_session_progress(ctx, out);
}

static void note_warning(void *ctx, const char *text)
{
    const struct rb_session *s = ctx;
    rb_controller_note(s->controller, "warning", "%s", text);
}

// The first process after a move says that instead of "resumed", once.
static bool take_arrival(const struct rb_session *s, bool *out_arrived, char detail[static 400], struct rb_err *err)
{
    struct rb_handover h;
    char here[160];
    if (!rb_handover_latest(s->journal, &h, err))
        return false;
    *out_arrived = h.epoch > 0 && h.state == RB_HANDOVER_ARRIVED;
    if (!*out_arrived)
        return true;
    rb_run_owner(here, sizeof here);
    snprintf(detail, 400, "its controller is %s now", here);
    h.state = RB_HANDOVER_HERE;
    return rb_handover_write(s->journal, &h, err);
}

static bool write_notice(void *ctx, enum rb_notice_kind what, const char *detail, struct rb_err *err)
{
    const struct rb_session *s = ctx;
    char where[400];
    bool arrived = false;
    if (what == RB_NOTICE_RESUMED && !take_arrival(s, &arrived, where, err))
        return false;
    what = arrived ? RB_NOTICE_MOVED : what;
    detail = arrived ? where : detail;
    char outcome[64];
    enum rb_stop_reason reason = RB_STOP_USER;
    const enum rb_job_outcome how = rb_engine_outcome(rb_controller_engine(s->controller), &reason);
    return rb_notify_write(s->notify, what,
                           what == RB_NOTICE_FINISHED ? rb_report_outcome(how, reason, true, outcome) : NULL, detail, err);
}

static bool open_notify(struct rb_session *s, struct rb_err *err)
{
    return rb_notify_create(&(struct rb_notify_config){.loop = s->loop,
                                                       .journal = s->journal,
                                                       .job = s->files->plan.job,
                                                       .run_id = s->files->run_id,
                                                       .workdir = s->files->workdir,
                                                       .look = look_for_notice,
                                                       .warn = note_warning,
                                                       .ctx = s},
                            &s->notify, err);
}

static void check_budget(struct rb_session *s)
{
    struct rb_progress now;
    if (!s->notify)
        return;
    rb_session_look(s, &now);
    if (!now.over && rb_notify_budget_is_due(s->notify, &now))
        rb_controller_tell(s->controller, RB_NOTICE_BUDGET_80, NULL, "%s", "");
}

// It will probably go on when they end, or that is not known.
static bool outlives(struct rb_session *s, int64_t end_unix_us, int64_t now_unix_us)
{
    struct rb_progress now;
    rb_session_progress(s, &now);
    return !now.over && (now.end_p95_us < 0 || now_unix_us + (now.end_p95_us - now.elapsed_us) > end_unix_us);
}

// Once for each end, in time to renew what only a person can.
static void check_credentials(struct rb_session *s)
{
    const int64_t now_us = s->loop->unix_us(s->loop->ctx);
    for (int i = 0; i < s->clouds.n; i++) {
        const struct rb_provider *p = &s->clouds.providers[i];
        const int64_t end_us = p->ops->credentials_end_us ? p->ops->credentials_end_us(p) : -1;
        char end[32];
        if (end_us < 0 || end_us == s->noted_end_us[i] || end_us - now_us > credentials_notice_us || !outlives(s, end_us, now_us))
            continue;
        s->noted_end_us[i] = end_us;
        rb_controller_tell(s->controller, RB_NOTICE_CREDENTIALS_ENDING, "warning",
                           "the credentials for %s end at %s, and nothing here renews them; without them nodes are neither "
                           "launched nor ended: get new ones, then `rbrun resume %s`",
                           s->clouds.infras[i], rb_format_instant(end_us, end), s->files->run_id);
    }
}

static void delivered(void *ctx)
{
    const struct rb_session *s = ctx;
    rb_loop_uv_stop(s->uv);
}

// The end waits a moment for the hooks, and says what they have not taken.
static void end_notices(struct rb_session *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    if (!s->notify)
        return;
    rb_notify_drain(s->notify, RB_NOTIFY_END_S * RB_US_PER_S, delivered, s);
    rb_loop_uv_run(s->uv);
    const int n = rb_notify_count_open(s->notify, &why);
    if (n > 0)
        rb_warn("%d notice%s not delivered%s%s; `rbrun notify %s` tries again", n, n == 1 ? " was" : "s were",
                why.len ? ": " : "", rb_buf_str(&why), s->files->run_id);
}

// --- what comes next

// Whether or not someone watches.
static void look_ahead(void *arg)
{
    struct rb_session *s = arg;
    if (!s->host.uv)
        rb_session_take_request(s);
    if (s->deadline_us >= 0 || s->budget_uusd >= 0)
        rb_session_foresee(s);
    check_budget(s);
    check_credentials(s);
    const int64_t delay_us = rb_replanning_is_busy(&s->replanning) ? REPLANNING_US : LOOK_AHEAD_US;
    s->look_timer = s->loop->timer_start(s->loop->ctx, delay_us, look_ahead, s);
}

void rb_session_progress(struct rb_session *s, struct rb_progress *out)
{
    rb_session_look(s, out);
    rb_standing_report(&s->standing, out);
}

static void write_event(struct rb_session *s, const struct rb_event *event)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    struct rb_json json = {.out = &line};
    rb_event_write(event, &json);
    rb_buf_putc(&line, '\n');
    if (s->events_fd >= 0 && write(s->events_fd, rb_buf_str(&line), line.len) != (ssize_t)line.len)
        rb_warn("events.jsonl: %s; the journal has the events nevertheless", strerror(errno));
    if (s->options->json) {
        fwrite(rb_buf_str(&line), 1, line.len, stdout);
        fflush(stdout);
    }
}

static void take_event(struct rb_session *s, const struct rb_event *event)
{
    rb_prediction_event(s->standing.prediction, event);
    if (event->kind != RB_EVENT_RESUME)
        return;
    s->resumed_us = event->time_us; // with other limits, perhaps
    s->drift = (struct rb_drift_watch){0};
    rb_replanning_finish(&s->replanning);
    rb_replanning_init(&s->replanning, &s->files->plan);
}

static void observe(void *ctx, const struct rb_event *event, const struct rb_actions *actions)
{
    struct rb_session *s = ctx;
    write_event(s, event);
    take_event(s, event);
    if (s->host.observe)
        s->host.observe(s->host.ctx, event);
    if (s->show && s->show->event)
        s->show->event(s->show->ctx, s->host.label ? s->host.label : "", &s->files->plan, event, actions);
}

static const char *prefix_of(const char *kind)
{
    if (strcmp(kind, "replan") == 0)
        return "replanned: ";
    if (strcmp(kind, "spot") == 0)
        return "spot: ";
    return strcmp(kind, RB_DRIFT_NOTE) == 0 ? "drift: " : "";
}

static void talk(void *ctx, const char *kind, const char *text)
{
    struct rb_session *s = ctx;
    if (strcmp(kind, "paced") == 0 || strcmp(kind, RB_REPLANNING_NOTE) == 0)
        return; // the report shows the one, the other is for the process that takes over
    rb_run_show_wipe(s->show);
    rb_warn("%s%s%s", s->host.label ? s->host.label : "", prefix_of(kind), text);
}

// --- signals and the end

static void print_open_launch(void *ctx, const struct rb_launch_row *row)
{
    (void)ctx;
    rb_warn("  %s in %s (%s)", row->instance_id[0] ? row->instance_id : "launch without an answer", row->infra,
            rb_launch_state_name(row->state));
}

static void say_stopping(const struct rb_session *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf what = RB_BUF_INIT;
    char until[32];
    int64_t at_most_us;
    if (!rb_controller_waits(s->controller, &what, &at_most_us))
        return; // there is nothing to wait for
    rb_format_instant((s->loop->unix_us(s->loop->ctx) + at_most_us) / RB_US_PER_S * RB_US_PER_S, until);
    rb_warn("stopping: ending trials and instances (%s), until %s at most; interrupt again to leave them as they are",
            rb_buf_str(&what), until);
}

static void interrupt(void *arg)
{
    struct rb_session *s = arg;
    rb_run_show_wipe(s->show);
    if (s->finished) { // only its hooks are waited for
        rb_loop_uv_stop(s->uv);
        return;
    }
    if (!s->interrupted) {
        s->interrupted = true;
        rb_controller_stop(s->controller, RB_STOP_USER);
        say_stopping(s);
        return;
    }
    s->left = true;
    rb_warn("left before the end; instances that may be running:");
    rb_controller_each_open_launch(s->controller, print_open_launch, s);
    rb_warn("end them with: rbrun stop %s; or continue with: rbrun resume %s", s->files->run_id, s->files->run_id);
    rb_loop_uv_stop(s->uv);
}

// rb_run_leave_process: the run goes on elsewhere. Nothing is ended, and what is on its way is repeated from the journal there.
static void leave(void *arg)
{
    struct rb_session *s = arg;
    rb_run_show_wipe(s->show);
    const struct rb_engine *engine = rb_controller_engine(s->controller);
    if (s->interrupted || rb_engine_outcome(engine, &(enum rb_stop_reason){0}) != RB_JOB_RUNNING) {
        rb_warn("this run is ending, and moves when it has ended");
        return;
    }
    s->left = true;
    rb_err_set(&s->failure, RB_E_CONTROLLER_LEFT,
               "left run %s, as `rbrun move` asked; its nodes go on: follow it with `rbrun attach %s`", s->files->run_id,
               s->files->run_id);
    rb_loop_uv_stop(s->uv);
}

static void finished(void *ctx, enum rb_job_outcome outcome, enum rb_stop_reason reason, const struct rb_err *err)
{
    struct rb_session *s = ctx;
    s->finished = true;
    s->outcome = outcome;
    s->reason = reason;
    if (err)
        s->failure = *err;
    if (s->host.finished)
        s->host.finished(s->host.ctx);
    else
        rb_loop_uv_stop(s->uv);
}

// --- one controller

static bool open_events(struct rb_session *s, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/events.jsonl", s->files->dir);
    s->events_fd = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    return s->events_fd >= 0 ||
           rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s", rb_buf_str(&path), strerror(errno));
}

static bool open_forecaster(struct rb_session *s, struct rb_err *err)
{
    const struct rb_plan *plan = &s->files->plan;
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    if (!policy || !policy->on_advice)
        return true;
    if (!rb_scenario_init(&s->scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog,
                          plan->seed, err))
        return false;
    s->forecaster = (struct rb_forecaster){.scenario = &s->scenario, .plan = plan};
    return true;
}

// Tests do not wait half an hour (docs/HACKING.md). 0: the default.
static int64_t lease_us(void)
{
    const char *seconds = getenv("RB_TEST_LEASE_S");
    return seconds && atoll(seconds) > 0 ? atoll(seconds) * RB_US_PER_S : 0;
}

static void machine_ended(void *ctx, int64_t ended_unix_us)
{
    struct rb_session *s = ctx;
    rb_own_machine_ended(&s->machine, ended_unix_us);
}

static struct rb_controller_config controller_config(struct rb_session *s)
{
    const struct rb_resources *resources = &s->files->plan.job->resources;
    return (struct rb_controller_config){
        .loop = s->loop,
        .plan = &s->files->plan,
        .journal = s->journal,
        .run_id = s->files->run_id,
        .run_dir = s->files->dir,
        .resume_as = s->host.resume_as,
        .places = s->clouds.places,
        .n_places = s->clouds.n,
        .machine = s->machine.row.instance_id[0] ? &s->machine.row : NULL,
        .machine_ended = machine_ended,
        .launcher = make_launcher,
        .launcher_ctx = s,
        .birth = rb_run_clouds_make_user_data,
        .birth_ctx = &s->clouds,
        .secret = secret,
        .ssh_user = rb_ssh_user(resources),
        .ssh_port = rb_ssh_port(resources),
        .poll_us = s->clouds.near ? NEAR_POLL_US : FAR_POLL_US,
        .lease_us = lease_us(),
        .capacity_retries = s->clouds.near ? NEAR_CAPACITY_RETRIES : FAR_CAPACITY_RETRIES,
        .go_on = s->options->go_on,
        .permit = s->options->permit ? permit : NULL,
        .permit_ctx = s,
        .advise = s->forecaster.scenario ? rb_forecast : NULL,
        .advise_ctx = &s->forecaster,
        .suggester = s->search     ? rb_search_program_suggester(s->search)
                     : s->follower ? rb_follower_suggester(s->follower)
                                   : NULL,
        .chooser = rb_spot_choice_chooser(s->spot),
        .observe = observe,
        .talk = talk,
        .notice = s->notify ? write_notice : NULL,
        .finished = finished,
        .ctx = s,
    };
}

// --- who proposes configurations

static void search_answered(void *ctx, const struct rb_event *event)
{
    const struct rb_session *s = ctx;
    rb_controller_suggested(s->controller, event);
}

static void search_failed(void *ctx, const struct rb_err *err)
{
    const struct rb_session *s = ctx;
    rb_controller_fail_run(s->controller, err);
}

static void open_search_program(struct rb_session *s)
{
    RB_AUTO(rb_buf_finish) struct rb_buf log = RB_BUF_INIT;
    rb_buf_printf(&log, "%s/search.log", s->files->dir);
    s->search = rb_search_program_create(&(struct rb_search_program_config){
        .loop = s->loop,
        .plan = &s->files->plan,
        .workdir = s->files->workdir,
        .log = rb_buf_str(&log),
        .ahead = true,
        .answered = search_answered,
        .note = note_warning,
        .failed = search_failed,
        .ctx = s,
    });
}

// From the run's own copy, made when it began.
static bool recall(struct rb_session *s, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_earlier earlier;
    rb_buf_printf(&path, "%s/" RB_EARLIER_OF_RUN, s->files->dir);
    if (!rb_earlier_matter(s->files->plan.job))
        return true;
    if (!rb_earlier_find(s->files->plan.job, rb_buf_str(&path), &arena, &earlier, err))
        return false;
    rb_follower_recall(s->follower, &earlier);
    return true;
}

static bool open_search(struct rb_session *s, struct rb_err *err)
{
    const struct rb_sampler_spec *sampler = &s->files->plan.job->scheduler.sampler;
    if (sampler->command)
        open_search_program(s);
    if (!sampler->type || sampler->command)
        return true;
    return rb_follower_create(&s->files->plan, &s->follower, err) && recall(s, err);
}

static bool start(struct rb_session *s, struct rb_err *err)
{
    s->uv = s->host.uv ? s->host.uv : rb_loop_uv_create();
    s->loop = rb_loop_uv_loop(s->uv);
    if (!rb_run_clouds_open(&s->clouds, s->files, s->loop, &s->host.lender, s->host.transport, err) ||
        !open_events(s, err) || !open_forecaster(s, err) || !open_search(s, err) || !open_notify(s, err) ||
        !rb_own_machine_begin(&s->machine, s->files, s->loop, err))
        return false;
    s->spot = rb_spot_choice_create(&s->files->plan, s->clouds.near ? NEAR_UNSEEN_S : FAR_UNSEEN_S);
    const struct rb_controller_config config = controller_config(s);
    if (!rb_controller_create(&config, &s->controller, err))
        return false;
    if (!s->host.uv) {
        rb_loop_uv_on_interrupt(s->uv, interrupt, s);
        rb_loop_uv_on_signal(s->uv, RB_LEAVE_SIGNAL, leave, s);
    }
    // Nothing can fail any more, and nothing is launched yet. Who reads that may stop the run at once.
    if (!s->host.uv && s->options->detached)
        rb_detached_begun(s->files->dir);
    rb_controller_start(s->controller);
    rb_own_machine_beat(&s->machine, s->clouds.places, s->clouds.n, note_warning, s);
    if (!s->host.uv)
        rb_limits_forget(s->files->dir);
    if (!s->host.uv || s->deadline_us >= 0 || s->budget_uusd >= 0)
        s->look_timer = s->loop->timer_start(s->loop->ctx, LOOK_AHEAD_US, look_ahead, s);
    if (s->options->end_it) {
        s->interrupted = true;
        rb_controller_stop(s->controller, RB_STOP_USER);
    }
    return true;
}

static void finish(struct rb_session *s)
{
    rb_run_show_wipe(s->show);
    if (s->asked[0]) {
        struct rb_err over;
        rb_err_set(&over, RB_E_LIMITS_FIXED, "the run ended before other nodes were found; its new limits held until then");
        rb_session_refuse(s, s->asked, &over);
    }
    if (s->look_timer)
        s->loop->timer_cancel(s->loop->ctx, s->look_timer);
    rb_own_machine_stop(&s->machine);
    rb_run_clouds_finish(&s->clouds); // first
    rb_notify_destroy(s->notify);
    rb_search_program_destroy(s->search); // before the controller, whose engine it reads
    rb_controller_destroy(s->controller);
    rb_follower_destroy(s->follower);
    rb_spot_choice_destroy(s->spot);
    rb_replanning_finish(&s->replanning);
    rb_prediction_destroy(s->standing.prediction);
    if (s->forecaster.scenario)
        rb_scenario_finish(&s->scenario);
    if (s->uv && !s->host.uv) {
        rb_loop_uv_destroy(s->uv);
        // What is left to do is short: how the run ended is written down, then the run is not ours any more.
        const int late[] = {RB_LEAVE_SIGNAL, SIGINT, SIGTERM, SIGHUP};
        for (size_t i = 0; i < sizeof late / sizeof *late; i++)
            signal(late[i], SIG_IGN);
    }
    rb_ssh_leave_control_dir(s->files->dir);
    if (s->events_fd >= 0)
        close(s->events_fd);
}

// It is printed even if it cannot be saved: the journal has all of it.
static bool save_report(struct rb_session *s, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    struct rb_err why;
    rb_buf_printf(&path, "%s/report.json", s->files->dir);
    if (!rb_report_json(s->journal, &s->files->plan, false, true, &text, err))
        return false;
    const bool kept = rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, &why);
    if (!s->options->quiet && s->show && s->show->report &&
        !s->show->report(s->show->ctx, s->journal, &s->files->plan, err))
        return false;
    return kept || rb_err_set(err, rb_err_number(&why),
                              "the run is over, but its report was not kept: %s%s%s; make room, then run `rbrun report "
                              "%s`",
                              why.file, why.file[0] ? ": " : "", why.message, s->files->run_id);
}

// Later runs with the same space start from its results, and later plans of the job learn from it. This run is over
// without that, too.
static void leave_results(const struct rb_session *s)
{
    struct rb_store *store = NULL;
    struct rb_err why;
    const bool left = rb_store_open_now(s->options->store, &store, &why) && rb_run_learn(s->files, s->journal, store, &why);
    rb_store_close(store);
    if (!left)
        rb_warn("later runs do not start from this one's results, and later plans do not learn from it: %s%s%s; once the store "
                "can be written, `rbrun report %s --learn` does it",
                why.file, why.file[0] ? ": " : "", why.message, s->files->run_id);
}

// Why a run that trained nothing to the end, or whose script is broken, is no success; false: it succeeded, or was only
// stopped.
static bool has_failed(const struct rb_session *s, struct rb_err *err)
{
    const struct rb_engine *e = rb_controller_engine(s->controller);
    const struct rb_scheduler *scheduler = &s->files->plan.job->scheduler;
    const char *said, *run = s->files->run_id;
    char spent[32], why[64];
    int64_t uusd, reserved;
    const int n_trials = rb_engine_n_trials(e);
    int n_failed = 0, n_reported = 0;
    if (s->options->end_it)
        return false;
    rb_controller_spend(s->controller, &uusd, &reserved);
    if (s->outcome == RB_JOB_STOPPED && s->reason == RB_STOP_BROKEN_SCRIPT) {
        const int n = rb_engine_broken(e, &said);
        rb_err_set(
            err, RB_E_SCRIPT_BROKEN,
            "the training script is broken: %d trial%s failed in the same way before any trial reported: %.400s; "
            "%s was spent; run it by hand, correct it, and start again; all output: rbrun logs %s",
            n, n == 1 ? "" : "s", said ? said : "it printed nothing", rb_format_money(uusd, spent), run);
        return true;
    }
    if (s->outcome != RB_JOB_INCOMPLETE)
        return false;
    for (int i = 0; i < n_trials; i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        n_failed += t->state == RB_TRIAL_FAILED;
        n_reported += !isnan(t->metric) || t->resource > t->cloned_at;
    }
    if (n_failed > 0)
        snprintf(why, sizeof why, "%d of %d trials failed", n_failed, n_trials);
    else
        snprintf(why, sizeof why, "%s", n_reported ? "they reported no finite number" : "none has reported");
    rb_err_set(err, RB_E_NO_TRIAL_FINISHED,
               "incomplete: no trial reached %s %" PRId64 ": %s; see their output with: rbrun logs %s", scheduler->unit,
               scheduler->max_resource, why, run);
    return true;
}

static int exit_code(const struct rb_session *s)
{
    if (s->outcome != RB_JOB_STOPPED || s->options->quiet)
        return s->outcome != RB_JOB_STOPPED ? RB_CODE_OK : RB_CODE_INTERRUPTED;
    switch (s->reason) {
    case RB_STOP_DEADLINE:
        rb_warn("the deadline was missed; continue with: rbrun resume %s --deadline +1h", s->files->run_id);
        return RB_CODE_STOPPED;
    case RB_STOP_BUDGET:
        rb_warn("the budget is spent; continue with: rbrun resume %s --budget +10", s->files->run_id);
        return RB_CODE_STOPPED;
    case RB_STOP_DRIFT:
        rb_warn("it would have missed its deadline or its budget; continue with: rbrun resume %s --deadline +1h or "
                "--budget +10",
                s->files->run_id);
        return RB_CODE_STOPPED;
    case RB_STOP_USER:
    case RB_STOP_CAPACITY:
    case RB_STOP_FAILURE:
    case RB_STOP_RELEASED:
    case RB_STOP_BROKEN_SCRIPT:
        break;
    }
    rb_warn("stopped; continue with: rbrun resume %s", s->files->run_id);
    return s->options->end_it ? RB_CODE_OK : RB_CODE_INTERRUPTED;
}

static bool remember(void *ctx, const struct rb_event *event, struct rb_err *err)
{
    (void)err;
    take_event(ctx, event);
    return true;
}

static bool recall_notes(struct rb_session *s, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_note *notes;
    int n;
    if (!rb_journal_notes(s->journal, &arena, &notes, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        if (notes[i].time_us < s->resumed_us)
            continue;
        if (strcmp(notes[i].kind, RB_DRIFT_NOTE) == 0)
            rb_drift_recall(&s->drift, notes[i].text);
        else if (strcmp(notes[i].kind, RB_REPLANNING_NOTE) == 0)
            rb_replanning_recall(&s->replanning, notes[i].text);
    }
    return true;
}

// Accounts for what happened before this process.
static bool begin_standing(struct rb_session *s, struct rb_err *err)
{
    s->standing.prediction = rb_prediction_create(&s->files->plan);
    rb_replanning_init(&s->replanning, &s->files->plan);
    return rb_journal_each_event(s->journal, remember, s, err) && recall_notes(s, err);
}

static bool read_limits(struct rb_session *s, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_journal_meta meta;
    if (!rb_journal_meta(s->journal, &arena, &meta, err))
        return false;
    s->deadline_us = meta.deadline_us;
    s->budget_uusd = meta.budget_uusd;
    return rb_own_machine_read(&s->machine, s->journal, err);
}

// Reports the result when the loop has ended.
static bool conclude(struct rb_session *s, int *out_code, struct rb_err *err)
{
    rb_run_show_wipe(s->show);
    if (s->left && s->failure.code) {
        *err = s->failure;
        return false;
    }
    if (s->left || !s->finished) {
        *out_code = RB_CODE_FAILED; // INTERRUPTED would say that everything was cleaned up
        return true;
    }
    rb_run_clouds_end_groups(&s->clouds, s->uv, s->files);
    rb_own_machine_keep(&s->machine, lease_us());
    struct rb_err unsaved;
    const bool saved = save_report(s, &unsaved);
    leave_results(s);
    end_notices(s);
    if (s->failure.code || !saved) {
        *err = s->failure.code ? s->failure : unsaved;
        return false;
    }
    if (has_failed(s, err))
        return false;
    *out_code = exit_code(s);
    return true;
}

const struct rb_transport *rb_session_transport(const struct rb_session *s)
{
    return rb_run_clouds_transport(&s->clouds);
}

struct rb_controller *rb_session_controller(struct rb_session *s)
{
    return s->controller;
}

bool rb_session_begin(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                      const struct rb_run_show *show, const struct rb_session_host *host, struct rb_session **out,
                      struct rb_err *err)
{
    struct rb_session *s = rb_xcalloc(1, sizeof *s);
    *s = (struct rb_session){.files = files, .journal = journal, .options = options, .show = show, .events_fd = -1};
    if (host)
        s->host = *host;
    const char *dies = getenv("RB_TEST_DIE_AFTER"); // crash tests: SIGKILL at the n-th write (docs/HACKING.md)
    if (dies && atoll(dies) > 0)
        rb_journal_die(journal, atoll(dies), RB_JOURNAL_KILLS);
    if (!read_limits(s, err) || !begin_standing(s, err) || !start(s, err)) {
        finish(s);
        free(s);
        return false;
    }
    *out = s;
    return true;
}

void rb_session_run(struct rb_session *s)
{
    if (s->show && s->show->begin)
        s->show->begin(s->show->ctx, s->uv);
    rb_loop_uv_run(s->uv);
}

bool rb_session_close(struct rb_session *s, int *out_code, struct rb_err *err)
{
    const bool ok = conclude(s, out_code, err);
    rb_trace("journal", "%lld journal writes", (long long)rb_journal_n_writes(s->journal));
    finish(s);
    free(s);
    return ok;
}
