// Source: slurm/slurm_errno.h of Slurm 22.05. Numbers are stable; texts are not.
#include "providers/slurm/slurm_errors.h"

#include "base/document/doc.h"
#include "base/errors/log.h"

#include <string.h>

static const char renew_token[] = "; get a new token with `scontrol token lifespan=SECONDS` and put it into SLURM_JWT";

static const struct row {
    int first, last;
    enum rb_err_number number;
    enum rb_api_reaction reaction;
    const char *advice;
} rows[] = {
    {1007, 1007, RB_E_SLURM_TOKEN, RB_API_FAIL, renew_token}, // authentication
    {1800, 1800, RB_E_CLOUD_STATE, RB_API_RETRY, ""},         // slurmrestd does not reach slurmctld: nothing was sent
    {1000, 1999, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, ""},
    {2002, 2003, RB_E_PERMISSION, RB_API_FAIL, ""}, // access, or membership of the partition's group
    {2010, 2010, RB_E_PERMISSION, RB_API_FAIL, ""}, // unknown user
    {2014, 2014, RB_E_REFUSED, RB_API_FAIL,
     "; no node of the partition has that many GPUs, CPUs or that much memory: check the instance type in the prices, "
     "resources.slurm.cpus_per_gpu and memory_per_gpu"},
    {2015, 2016, RB_E_CAPACITY, RB_API_FAIL, ""}, // nodes down, drained or busy
    {2017, 2017, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, ""},
    {RB_SLURM_ALREADY_DONE, RB_SLURM_ALREADY_DONE, RB_E_CLOUD_NOT_FOUND, RB_API_FAIL, ""},
    {2045, 2045, RB_E_PERMISSION, RB_API_FAIL, "; check resources.slurm.account"},
    {2050, 2050, RB_E_QUOTA, RB_API_FAIL, "; a limit of the account or QOS: plan with less, or ask for more"},
    {2066, 2066, RB_E_PERMISSION, RB_API_FAIL, ""}, // QOS
    {2068, 2068, RB_E_CAPACITY, RB_API_FAIL, ""},
    {2070, 2070, RB_E_CAPACITY, RB_API_FAIL, ""}, // the partition is drained
    {2101, 2101, RB_E_CAPACITY, RB_API_FAIL, ""},
    {5000, 5999, RB_E_OUTCOME_UNKNOWN, RB_API_RETRY, ""}, // slurmctld did not answer slurmrestd
    {6000, 6999, RB_E_SLURM_TOKEN, RB_API_FAIL, renew_token},
    {2000, 9999, RB_E_REFUSED, RB_API_FAIL, ""},
};

static const struct row *find(int number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (number >= rows[i].first && number <= rows[i].last)
            return &rows[i];
    return NULL;
}

// A failed call of the API without an error number: it may have had an effect.
static const struct row unnumbered = {.number = RB_E_OUTCOME_UNKNOWN, .reaction = RB_API_RETRY, .advice = ""};

// "error_code" where a job is submitted, "error_number" everywhere else and in later versions.
static int number_of(const struct rb_node *error)
{
    const struct rb_node *n = rb_node_member(error, "error_number");
    if (!n)
        n = rb_node_member(error, "error_code");
    return n && n->kind == RB_NODE_INT && n->integer > 0 && n->integer <= 9999 ? (int)n->integer : 0;
}

// The entry with a number is more specific than the one before it, which only quotes the parser.
static const struct rb_node *most_telling(const struct rb_node *errors)
{
    const struct rb_node *error = errors->first;
    while (error && number_of(error) == 0)
        error = error->next;
    return error ? error : errors->first;
}

bool rb_slurm_first_error(const struct rb_node *answer, int *out_number, enum rb_api_reaction *out_reaction,
                          struct rb_err *err)
{
    const struct rb_node *errors = rb_node_member(answer, "errors");
    if (!errors || errors->kind != RB_NODE_LIST || errors->n_children == 0)
        return false;
    const struct rb_node *error = most_telling(errors);
    const int number = number_of(error);
    const struct row *row = find(number);
    if (!row)
        row = &unnumbered;
    char what[256], why[256];
    const char *name = rb_node_member_text(error, "error"),
               *description = rb_node_member_text(errors->first, "description");
    rb_log_sanitise(name, strlen(name), what, sizeof what);
    rb_log_sanitise(description, strlen(description), why, sizeof why);
    rb_err_set(err, row->number, "Slurm error %d: %s%s%s%s", number, what, why[0] ? ": " : "", why, row->advice);
    *out_number = number;
    *out_reaction = row->reaction;
    return true;
}

enum rb_api_reaction rb_slurm_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    enum rb_api_reaction reaction;
    int number;
    if (status == 401 || status == 403) {
        rb_err_set(err, RB_E_SLURM_TOKEN, "slurmrestd does not accept these credentials (HTTP status %ld)%s", status,
                   renew_token);
        return RB_API_REFRESH;
    }
    if (rb_doc_parse_json(&doc, "answer", body, n, NULL)) {
        const bool said = rb_slurm_first_error(doc.root, &number, &reaction, err);
        if (said) {
            // A bad token may look like this: the call to slurmctld fails for no reason given.
            if (number == 0 && err)
                rb_err_prefix(err, "HTTP status %ld (an expired SLURM_JWT looks like this, too)", status);
            return reaction;
        }
    }
    if (status == 404) { // of an unknown path: plain text
        rb_err_set(err, RB_E_CLOUD_NOT_FOUND, "slurmrestd knows no such path");
        return RB_API_FAIL;
    }
    rb_err_set(err, status < 500 ? RB_E_REFUSED : RB_E_OUTCOME_UNKNOWN,
               "HTTP status %ld with a body that is not slurmrestd's; is a proxy in between?", status);
    return status < 500 ? RB_API_FAIL : RB_API_RETRY;
}
