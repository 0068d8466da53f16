// Runs in virtual time with every kind of fault at once: soak_virtual [--runs N] [--seed S] [--cloud ec2|gcp] [--verbose]
//
// The controller, the providers and the mock cloud are the real ones; only wire, clock, machines and random bytes are the
// test's. Seed S and the cloud are all that a run depends on. Prints a table; a run that fails is named with the command
// that runs it alone.
#include "base/text/number.h"
#include "soak_random.h"
#include "soak_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct totals {
    int64_t n_runs, n_failed, n_complete, n_instances, n_stand_ins, n_gang_nodes, n_lives, n_requests;
    int64_t n_deaths, n_full, n_rescued, n_jumps, n_sleeps, n_outages;
    int64_t n_stops, n_long_stops, n_full_hosts, n_held_up, n_quiet, n_whole_seconds, blamed, above_budget, n_replanned, wrongly_hung;
    int64_t leaked, launched_twice, lost_reports, false_claims, hangs, n_bills_differ, n_forgotten, n_unpriced;
    int64_t cloud_uusd, run_uusd, estimated_uusd, idle_disk_uusd, virtual_us;
    int64_t n_faults[RB_CHAOS_N_FAULTS], n_wire_faults[SOAK_N_WIRE_FAULTS];
};

struct arguments {
    int64_t runs, seed;
    bool ec2, gcp, verbose;
};

static void add(struct totals *t, const struct soak_outcome *o)
{
    t->n_runs++;
    t->n_failed += !soak_outcome_is_good(o);
    t->n_complete += o->complete;
    t->n_instances += o->n_instances;
    t->n_stand_ins += o->n_stand_ins;
    t->n_lives += o->n_lives;
    t->n_gang_nodes += o->n_gang_nodes;
    t->n_deaths += o->n_deaths - o->n_full;
    t->n_full += o->n_full;
    t->n_rescued += o->n_rescued;
    t->n_outages += o->n_outages;
    t->n_forgotten += o->n_forgotten;
    t->n_unpriced += o->n_unpriced;
    t->estimated_uusd += o->estimated_uusd;
    t->idle_disk_uusd += o->idle_disk_uusd;
    t->n_jumps += o->n_jumps;
    t->n_sleeps += o->n_sleeps;
    t->n_stops += o->n_stops;
    t->n_long_stops += o->n_long_stops;
    t->n_full_hosts += o->n_full_hosts;
    t->n_held_up += o->n_held_up;
    t->n_quiet += o->is_quiet;
    t->n_whole_seconds += o->whole_seconds;
    t->blamed += o->blamed;
    t->above_budget += o->above_budget;
    t->n_replanned += o->n_replanned;
    t->wrongly_hung += o->wrongly_hung;
    t->n_requests += o->n_requests;
    t->leaked += o->leaked;
    t->launched_twice += o->launched_twice;
    t->lost_reports += o->lost_reports;
    t->false_claims += o->false_claims;
    t->hangs += o->hangs;
    t->n_bills_differ += o->cloud_uusd + o->estimated_uusd != o->run_uusd;
    t->cloud_uusd += o->cloud_uusd;
    t->run_uusd += o->run_uusd;
    t->virtual_us += o->virtual_us;
    for (int k = 0; k < RB_CHAOS_N_FAULTS; k++)
        t->n_faults[k] += o->n_faults[k];
    for (int k = 0; k < SOAK_N_WIRE_FAULTS; k++)
        t->n_wire_faults[k] += o->n_wire_faults[k];
}

static void line(const char *what, int64_t ec2, int64_t gcp)
{
    printf("| %-48s | %12" PRId64 " | %12" PRId64 " |\n", what, ec2, gcp);
}

static void print_table(const struct totals *e, const struct totals *g)
{
    static const char *const wire[SOAK_N_WIRE_FAULTS] = {"connection refused",    "lost_request",
                                                         "late_request",          "late_answer",
                                                         "request arrives twice", "request without a network"};
    printf("| %-48s | %12s | %12s |\n|---|---:|---:|\n", "", "EC2", "GCP");
    line("runs", e->n_runs, g->n_runs);
    line("of them complete, the others gave up", e->n_complete, g->n_complete);
    line("of them only stopped, or full, and nothing else", e->n_quiet, g->n_quiet);
    line("of them on a cloud of whole seconds", e->n_whole_seconds, g->n_whole_seconds);
    line("controllers", e->n_lives, g->n_lives);
    line("instances launched", e->n_instances, g->n_instances);
    line("launches of an offer that stands in", e->n_stand_ins, g->n_stand_ins);
    line("nodes asked for as one of a gang", e->n_gang_nodes, g->n_gang_nodes);
    line("changes of nodes for a limit", e->n_replanned, g->n_replanned);
    line("requests", e->n_requests, g->n_requests);
    line("virtual hours", e->virtual_us / 3600000000, g->virtual_us / 3600000000);
    line("**instances leaked**", e->leaked, g->leaked);
    line("**instances launched twice**", e->launched_twice, g->launched_twice);
    line("**reports lost**", e->lost_reports, g->lost_reports);
    line("**\"none left\" said while one was**", e->false_claims, g->false_claims);
    line("**runs that hang**", e->hangs, g->hangs);
    line("**runs whose bill is not the cloud's**", e->n_bills_differ, g->n_bills_differ);
    line("**restarted or lost by a stop or a full host**", e->blamed, g->blamed);
    line("**above their budget, with a controller**", e->above_budget, g->above_budget);
    line("**killed as hung where no trial hangs**", e->wrongly_hung, g->wrongly_hung);
    line("the cloud's ledger, micro-dollars", e->cloud_uusd, g->cloud_uusd);
    line("the runs' ledgers, micro-dollars", e->run_uusd, g->run_uusd);
    line("bills where the cloud had forgotten, and said so", e->n_forgotten, g->n_forgotten);
    line("bills at old prices, where it listed none, as said", e->n_unpriced, g->n_unpriced);
    line("... by which the runs' ledgers are higher", e->estimated_uusd, g->estimated_uusd);
    line("disks after machines that stopped themselves", e->idle_disk_uusd, g->idle_disk_uusd);
    line("fault: controller killed at a journal write", e->n_deaths, g->n_deaths);
    line("fault: disk full at a journal write", e->n_full, g->n_full);
    line("... all instances ended and seen to be gone", e->n_rescued, g->n_rescued);
    line("fault: wall clock set, up to 2 h either way", e->n_jumps, g->n_jumps);
    line("fault: host asleep, up to 8 min", e->n_sleeps, g->n_sleeps);
    line("fault: host without network, up to 60 min", e->n_outages, g->n_outages);
    line("fault: controller suspended, 1 s to 45 min", e->n_stops, g->n_stops);
    line("... of these longer than nodes wait, 30 min", e->n_long_stops, g->n_long_stops);
    line("fault: machine full, up to 4 min", e->n_full_hosts, g->n_full_hosts);
    line("... and so reported, while it held up a command", e->n_held_up, g->n_held_up);
    for (int k = 0; k < SOAK_N_WIRE_FAULTS; k++) {
        char text[64];
        snprintf(text, sizeof text, "fault: %s", wire[k]);
        line(text, e->n_wire_faults[k], g->n_wire_faults[k]);
    }
    for (int k = 0; k < RB_CHAOS_N_FAULTS; k++) {
        char text[64];
        snprintf(text, sizeof text, "fault: %s", rb_chaos_fault_name((enum rb_chaos_fault)k));
        line(text, e->n_faults[k], g->n_faults[k]);
    }
}

static void print_failure(const struct soak_options *options, const struct soak_outcome *o, const char *program)
{
    printf("FAILED: leaked %d, launched twice %d, reports lost %d, false claims %d, blamed %d, above budget %d, wrongly hung %d, %s, "
           "cloud %" PRId64 " run %" PRId64
           " micro-dollars; it ended with: %s\n  again: %s --runs 1 --cloud %s --seed %" PRIu64 " --verbose\n",
           o->leaked, o->launched_twice, o->lost_reports, o->false_claims, o->blamed, o->above_budget, o->wrongly_hung,
           o->hangs ? "hangs" : "ended", o->cloud_uusd + o->estimated_uusd, o->run_uusd, o->how, program,
           options->is_gcp ? "gcp" : "ec2", options->seed);
    fflush(stdout);
}

// The launcher of the test asserts what must never happen on a machine. A run that aborts still says how to see it again.
static char again[256];

static void on_abort(int signal)
{
    (void)signal;
    if (write(STDOUT_FILENO, again, strlen(again)) < 0)
        _exit(1);
}

static void run_all(const struct arguments *a, bool is_gcp, const struct rb_mock_gcp_account *account,
                    const char *program, struct totals *t)
{
    for (int64_t k = 0; k < a->runs; k++) {
        const struct soak_options options = {
            .seed = (uint64_t)(a->seed + k), .is_gcp = is_gcp, .account = account, .verbose = a->verbose};
        struct soak_outcome o;
        snprintf(again, sizeof again, "FAILED: aborted\n  again: %s --runs 1 --cloud %s --seed %" PRIu64 " --verbose\n",
                 program, is_gcp ? "gcp" : "ec2", options.seed);
        soak_run(&options, &o);
        if (!soak_outcome_is_good(&o))
            print_failure(&options, &o, program);
        add(t, &o);
    }
}

static bool read_arguments(int argc, char **argv, struct arguments *a)
{
    *a = (struct arguments){.runs = 10, .seed = 1, .ec2 = true, .gcp = true};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--verbose") == 0) {
            a->verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--cloud") == 0) {
            a->ec2 = strcmp(value, "ec2") == 0;
            a->gcp = strcmp(value, "gcp") == 0;
            if (!a->ec2 && !a->gcp)
                return false;
        } else if (strcmp(argv[i], "--runs") == 0 ? !rb_parse_int(value, &a->runs)
                                                  : strcmp(argv[i], "--seed") != 0 || !rb_parse_int(value, &a->seed)) {
            return false;
        }
        i++;
    }
    return a->runs > 0;
}

// Everything a provider would look for on this machine.
static void set_environment(const struct rb_mock_gcp_account *account, char key_path[static 64])
{
    struct rb_err err;
    const int fd = mkstemp(strcpy(key_path, "/tmp/rb-soak-key-XXXXXX"));
    if (fd < 0 || close(fd) != 0 || !rb_mock_gcp_account_write(account, key_path, SOAK_GCP_URL "/token", &err))
        abort();
    setenv("HOME", "/nonexistent", 1);
    setenv("AWS_ENDPOINT_URL", SOAK_EC2_URL, 1);
    setenv("AWS_ACCESS_KEY_ID", "test", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "test", 1);
    setenv("RB_GCP_COMPUTE_ENDPOINT", SOAK_GCP_URL, 1);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", key_path, 1);
    const char *const others[] = {"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL_EC2", "GOOGLE_CLOUD_PROJECT"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
}

int main(int argc, char **argv)
{
    struct arguments a;
    struct totals ec2 = {0}, gcp = {0};
    struct rb_mock_gcp_account *account;
    struct rb_err err;
    char key_path[64];
    if (!read_arguments(argc, argv, &a)) {
        fprintf(stderr, "usage: %s [--runs N] [--seed S] [--cloud ec2|gcp] [--verbose]\n", argv[0]);
        return 2;
    }
    signal(SIGABRT, on_abort);
    soak_random_seed(0);
    if (!rb_mock_gcp_account_generate(&account, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    set_environment(account, key_path);
    if (a.ec2)
        run_all(&a, false, account, argv[0], &ec2);
    if (a.gcp)
        run_all(&a, true, account, argv[0], &gcp);
    print_table(&ec2, &gcp);
    unlink(key_path);
    rb_mock_gcp_account_destroy(account);
    return ec2.n_failed + gcp.n_failed > 0;
}
