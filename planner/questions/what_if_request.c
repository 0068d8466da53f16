// Turns "price=-20%,deadline=3h" into a request with those inputs.
#include "planner/questions/what_if.h"
#include "planner/questions/what_if_profile.h"

#include "base/text/closest.h"
#include "profiles/catalog/reservation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_KEYS                                                                                                   \
    "price, price.TYPE, provisioning, training, deadline, budget, confidence, spot, num_trials, eta, max_resource, " \
    "sizes, max_nodes"
#define MAX_PERCENT 1000 // a price more than eleven times as high is assumed to be a typing error
#define PER_PERCENT 100  // percentages are exact to two decimals

// --- keys

// A key that replaces one of the job's.
struct job_key {
    const char *key, *path;
};

static const struct job_key job_keys[] = {
    {"budget", "budget"},
    {"confidence", "confidence"},
    {"deadline", "deadline"},
    {"eta", "scheduler.eta"},
    {"max_nodes", "resources.max_nodes"},
    {"max_resource", "scheduler.max_resource"},
    {"num_trials", "scheduler.num_trials"},
    {"spot", "resources.spot"},
};
#define N_JOB_KEYS (sizeof job_keys / sizeof job_keys[0])

static bool is_price(const char *key)
{
    return strcmp(key, "price") == 0 || (strncmp(key, "price.", 6) == 0 && key[6] != '\0');
}

// Percentages of the profile's times.
static bool is_time(const char *key)
{
    return strcmp(key, "provisioning") == 0 || strcmp(key, "training") == 0;
}

static const struct job_key *find_job_key(const char *key)
{
    for (size_t i = 0; i < N_JOB_KEYS; i++) {
        if (strcmp(job_keys[i].key, key) == 0)
            return &job_keys[i];
    }
    return NULL;
}

static bool check_key(const char *text, const char *key, struct rb_err *err)
{
    enum { OWN_KEYS = 4 };
    const char *names[N_JOB_KEYS + OWN_KEYS] = {"price", "provisioning", "sizes", "training"};
    if (is_price(key) || is_time(key) || strcmp(key, "sizes") == 0 || find_job_key(key))
        return true;
    for (size_t i = 0; i < N_JOB_KEYS; i++)
        names[i + OWN_KEYS] = job_keys[i].key;
    const char *closest = rb_closest(key, names, (int)(N_JOB_KEYS + OWN_KEYS));
    return rb_err_set(err, RB_E_WHAT_IF, "--what-if %s: unknown key \"%s\"%s%s%s; known are " KNOWN_KEYS, text, key,
                      closest ? "; did you mean \"" : "", closest ? closest : "", closest ? "\"?" : "");
}

// --- "K=V[,K=V]"

static bool parse_change(const char *text, char *part, struct rb_what_if *scenario, struct rb_what_if_change *out,
                         struct rb_err *err)
{
    char *equals = strchr(part, '=');
    if (!equals || equals == part || equals[1] == '\0')
        return rb_err_set(err, RB_E_WHAT_IF,
                          "--what-if %s: expected key=value, got \"%s\"; for example price=-20%% or deadline=3h", text,
                          part);
    *equals = '\0';
    if (!check_key(text, part, err))
        return false;
    for (int i = 0; i < scenario->n_changes; i++) {
        if (strcmp(scenario->changes[i].key, part) == 0)
            return rb_err_set(err, RB_E_WHAT_IF, "--what-if %s: %s is given twice; give it once", text, part);
    }
    *out = (struct rb_what_if_change){.key = part, .value = equals + 1};
    return true;
}

bool rb_what_if_parse(const char *text, struct rb_arena *arena, struct rb_what_if *out, struct rb_err *err)
{
    char *parts = rb_arena_strdup(arena, text);
    size_t n_parts = 1;
    for (const char *p = text; *p; p++)
        n_parts += *p == ',';
    struct rb_what_if_change *changes = rb_arena_array(arena, n_parts, sizeof *changes);
    struct rb_what_if scenario = {.text = rb_arena_strdup(arena, text), .changes = changes};
    for (char *part = parts, *end; part; part = end) {
        end = strchr(part, ',');
        if (end)
            *end++ = '\0';
        if (!parse_change(text, part, &scenario, &changes[scenario.n_changes], err))
            return false;
        scenario.n_changes++;
    }
    *out = scenario;
    return true;
}

// --- the job

// "1|2|4" -> trial.gpus with exactly these sizes.
static bool size_overrides(const char *value, struct rb_arena *arena, const char **out, int *n, struct rb_err *err)
{
    struct rb_buf list = RB_BUF_INIT;
    long smallest = 0, largest = 0;
    bool ok = true;
    for (const char *p = value; ok; p++) {
        char *end;
        long size = strtol(p, &end, 10);
        ok = isdigit((unsigned char)*p) && size > 0 && size < 1000000 && (*end == '|' || *end == '\0');
        if (!ok)
            break;
        rb_buf_printf(&list, "%s%ld", list.len ? ", " : "", size);
        smallest = smallest == 0 || size < smallest ? size : smallest;
        largest = size > largest ? size : largest;
        p = end;
        if (*p == '\0')
            break;
    }
    if (ok) {
        out[(*n)++] = rb_arena_printf(arena, "trial.gpus.min=%ld", smallest);
        out[(*n)++] = rb_arena_printf(arena, "trial.gpus.max=%ld", largest);
        out[(*n)++] = rb_arena_printf(arena, "trial.gpus.sizes=[%s]", rb_buf_str(&list));
    }
    rb_buf_finish(&list);
    return ok || rb_err_set(err, RB_E_WHAT_IF,
                            "sizes: expected GPUs per trial such as 1|2|4, got \"%s\"; separate them by |", value);
}

// "none" removes a constraint; a budget may carry its dollar sign.
static const char *job_value(const struct rb_what_if_change *change)
{
    bool constraint = strcmp(change->key, "deadline") == 0 || strcmp(change->key, "budget") == 0;
    if (constraint && strcmp(change->value, "none") == 0)
        return "null";
    return strcmp(change->key, "budget") == 0 && change->value[0] == '$' ? change->value + 1 : change->value;
}

static bool list_overrides(const struct rb_what_if *scenario, struct rb_arena *arena, const char ***out, int *out_n,
                           struct rb_err *err)
{
    const char **list = rb_arena_array(arena, (size_t)scenario->n_changes + 2, sizeof *list);
    int n = 0;
    for (int i = 0; i < scenario->n_changes; i++) {
        const struct rb_what_if_change *change = &scenario->changes[i];
        const struct job_key *key = find_job_key(change->key);
        if (key)
            list[n++] = rb_arena_printf(arena, "%s=%s", key->path, job_value(change));
        else if (!is_price(change->key) && !is_time(change->key) &&
                 !size_overrides(change->value, arena, list, &n, err))
            return false;
    }
    *out = list;
    *out_n = n;
    return true;
}

// Values of the request take precedence over the job's; an instant has become a duration by now.
static char *job_text(const struct rb_plan_request *base, struct rb_arena *arena)
{
    struct rb_job job = *base->job;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    job.deadline_us = base->deadline_us;
    job.deadline_at_us = -1;
    job.budget_uusd = base->budget_uusd;
    job.confidence = base->confidence;
    job.objective = base->objective;
    job.on_drift = RB_DRIFT_UNSET; // what a plan made of it may not go with what is changed
    rb_json_init(&j, &text, false);
    rb_job_write(&job, &j);
    char *copy = rb_arena_strndup(arena, rb_buf_str(&text), text.len);
    rb_buf_finish(&text);
    return copy;
}

// For a run that starts when the job's own does.
static void settle_as(const struct rb_job *base, struct rb_job *io)
{
    for (int i = 0; i < io->resources.n_reservations; i++)
        for (int k = 0; k < base->resources.n_reservations; k++) {
            struct rb_reservation *mine = &io->resources.reservations[i];
            const struct rb_reservation *its = &base->resources.reservations[k];
            if (mine->starts_at_us != its->starts_at_us || mine->ends_at_us != its->ends_at_us ||
                mine->is_block != its->is_block)
                continue;
            mine->opens_us = its->opens_us;
            mine->closes_us = its->closes_us;
        }
}

static bool read_job(const struct rb_plan_request *base, const char *const *overrides, int n, struct rb_arena *arena,
                     struct rb_job *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    const char *text = job_text(base, arena);
    bool ok = rb_doc_parse_json(&doc, base->job->name, text, strlen(text), err) &&
              rb_job_read(doc.root, overrides, n, arena, out, err) && rb_job_check_supported(out, err);
    rb_doc_finish(&doc);
    if (ok)
        settle_as(base->job, out);
    if (ok && out->deadline_at_us >= 0)
        return rb_err_set(err, RB_E_WHAT_IF, "deadline: expected a duration such as 3h, got an instant");
    if (ok && out->on_average)
        return rb_err_set(err, RB_E_WHAT_IF,
                          "confidence: expected a probability above 0 and below 1, got mean, which "
                          "has a planner of its own: run rbplan --confidence mean");
    return ok;
}

// --- prices

// "-20%", "+12.5%" -> hundredths of a percent.
static bool parse_percent(const struct rb_what_if_change *change, int64_t *out, struct rb_err *err)
{
    const char *p = change->value + (change->value[0] == '-' || change->value[0] == '+');
    int64_t n = 0;
    int decimals = -1;
    bool ok = isdigit((unsigned char)*p);
    for (; ok && (isdigit((unsigned char)*p) || (*p == '.' && decimals < 0)); p++) {
        if (*p == '.') {
            decimals = 0;
            continue;
        }
        decimals += decimals >= 0;
        n = n * 10 + (*p - '0');
        ok = decimals <= 2 && n <= MAX_PERCENT * PER_PERCENT;
    }
    for (int i = decimals < 0 ? 0 : decimals; i < 2; i++)
        n *= 10;
    n = change->value[0] == '-' ? -n : n;
    if (!ok || strcmp(p, "%") != 0 || n > MAX_PERCENT * PER_PERCENT || n <= -100 * PER_PERCENT)
        return rb_err_set(
            err, RB_E_WHAT_IF,
            "%s: expected a percentage such as -20%% or +10%%, above -100%% and at most +%d%%, with no more "
            "than two decimals, got \"%s\"",
            change->key, MAX_PERCENT, change->value);
    *out = n;
    return true;
}

// Rounded up to the micro-dollar per hour, as every price is.
static struct rb_rate changed_rate(struct rb_rate rate, int64_t hundredths)
{
    const int64_t whole = 100 * PER_PERCENT;
    return (struct rb_rate){(rate.uusd_per_hour * (whole + hundredths) + whole - 1) / whole};
}

static bool change_prices(const struct rb_what_if_change *change, struct rb_catalog *catalog, struct rb_err *err)
{
    const char *type = strchr(change->key, '.') ? strchr(change->key, '.') + 1 : NULL;
    int64_t hundredths = 0;
    int n_changed = 0;
    if (!parse_percent(change, &hundredths, err))
        return false;
    for (int i = 0; i < catalog->n_offers; i++) {
        if (type && strcmp(catalog->offers[i].instance_type, type) != 0)
            continue;
        catalog->offers[i].rate = changed_rate(catalog->offers[i].rate, hundredths);
        n_changed++;
    }
    for (int i = 0; i < catalog->n_disks && !type; i++)
        catalog->disks[i].per_gb = changed_rate(catalog->disks[i].per_gb, hundredths);
    if (n_changed > 0)
        return true;
    const char **names = rb_xcalloc((size_t)catalog->n_offers + 1, sizeof *names);
    for (int i = 0; i < catalog->n_offers; i++)
        names[i] = catalog->offers[i].instance_type;
    const char *closest = type ? rb_closest(type, names, catalog->n_offers) : NULL;
    free(names);
    return rb_err_set(err, RB_E_WHAT_IF, "%s: no price of this instance type is known%s%s%s", change->key,
                      closest ? "; did you mean \"" : "", closest ? closest : "", closest ? "\"?" : "");
}

static struct rb_catalog copy_catalog(const struct rb_catalog *from, struct rb_arena *arena)
{
    struct rb_catalog to = *from;
    to.offers = rb_arena_array(arena, (size_t)from->n_offers + 1, sizeof *to.offers);
    to.disks = rb_arena_array(arena, (size_t)from->n_disks + 1, sizeof *to.disks);
    if (from->n_offers > 0)
        memcpy(to.offers, from->offers, (size_t)from->n_offers * sizeof *to.offers);
    if (from->n_disks > 0)
        memcpy(to.disks, from->disks, (size_t)from->n_disks * sizeof *to.disks);
    return to;
}

// Changes apply in the order given: price=-20%,price.X=+10% makes X cheaper with all others, then more expensive again.
static bool make_catalog(const struct rb_catalog *base, const struct rb_what_if *scenario, struct rb_arena *arena,
                         struct rb_catalog *out, struct rb_err *err)
{
    struct rb_catalog catalog = copy_catalog(base, arena);
    for (int i = 0; i < scenario->n_changes; i++) {
        if (is_price(scenario->changes[i].key) && !change_prices(&scenario->changes[i], &catalog, err))
            return false;
    }
    *out = catalog;
    return true;
}

// --- times

static bool make_profile(const struct rb_profile *base, const struct rb_what_if *scenario, struct rb_arena *arena,
                         const struct rb_profile **out, struct rb_err *err)
{
    double provisioning = 1, training = 1;
    bool changes = false;
    for (int i = 0; i < scenario->n_changes; i++) {
        const struct rb_what_if_change *change = &scenario->changes[i];
        int64_t hundredths;
        if (!is_time(change->key))
            continue;
        if (!parse_percent(change, &hundredths, err))
            return false;
        *(change->key[0] == 'p' ? &provisioning : &training) = 1 + (double)hundredths / (100 * PER_PERCENT);
        changes = true;
    }
    if (!changes)
        return true;
    struct rb_profile *profile = rb_arena_alloc(arena, sizeof *profile);
    *out = profile;
    return rb_what_if_profile(base, provisioning, training, arena, profile, err);
}

// --- the request

// Error positions refer to the text that the job was written to, or name --set: the user wrote neither.
static bool scenario_error(const struct rb_what_if *scenario, struct rb_err *err)
{
    if (err) {
        err->file[0] = '\0';
        err->line = err->column = 0;
    }
    return rb_err_prefix(err, "--what-if %s", scenario->text);
}

bool rb_what_if_request(const struct rb_plan_request *base, const struct rb_what_if *scenario, struct rb_arena *arena,
                        struct rb_plan_request *out, struct rb_err *err)
{
    struct rb_job *job = rb_arena_alloc(arena, sizeof *job);
    struct rb_catalog *catalog = rb_arena_alloc(arena, sizeof *catalog);
    const char **overrides;
    int n;
    if (!list_overrides(scenario, arena, &overrides, &n, err) || !read_job(base, overrides, n, arena, job, err) ||
        !make_catalog(base->catalog, scenario, arena, catalog, err))
        return scenario_error(scenario, err);
    struct rb_plan_request req = *base;
    if (!make_profile(base->profile, scenario, arena, &req.profile, err))
        return scenario_error(scenario, err);
    req.job = job;
    req.catalog = catalog;
    req.deadline_us = job->deadline_us;
    req.budget_uusd = job->budget_uusd;
    req.confidence = job->confidence;
    *out = req;
    return true;
}
