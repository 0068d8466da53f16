#include "commands/version.h"

#include "base/document/json.h"
#include "build_version.h" // RB_BUILD: what git describes, else the release

#include <stdio.h>
#include <string.h>

// Every format that a program of this version reads or writes, by name. tests/packaging compares it with the sources.
static const char *const formats[] = {
    "rb-approval/1", "rb-best-for/1",   "rb-campaign/1",    "rb-chaos/1",       "rb-check/1",       "rb-compare/1",
    "rb-detached/1", "rb-doctor/1",   "rb-dry-run/1",    "rb-error/1",      "rb-export/1",      "rb-fetch/1",       "rb-fit/1",         "rb-gc/1",
    "rb-import/1",   "rb-infeasible/1", "rb-job-import/1",  "rb-ledger/1",      "rb-live/1",        "rb-log/1",
    "rb-mock/1",     "rb-moved/1",      "rb-notice/1",     "rb-pareto/1",     "rb-plan-page/1",   "rb-plan/1",        "rb-pool-report/1", "rb-pool-run/1",
    "rb-pool/1",     "rb-prices/1",     "rb-profile/1",     "rb-profiles/1",    "rb-replan/1",    "rb-replay/1",     "rb-report/1",
    "rb-run-page/1", "rb-runs/1",       "rb-search/1",      "rb-sensitivity/1", "rb-sim-compare/1", "rb-sim-trace/1",
    "rb-sim/1",      "rb-sink/1",       "rb-status/1",      "rb-version/1",     "rb-what-if/1",
};
#define N_FORMATS (sizeof formats / sizeof formats[0])

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void print_json(const char *program)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_json_put(&j, "{format: 'rb-version/1' program: %s version: %s build: %s compiler: %s formats: [", program,
                RB_VERSION, RB_BUILD, COMPILER);
    for (size_t i = 0; i < N_FORMATS; i++)
        rb_json_string(&j, formats[i]);
    rb_json_put(&j, "]}");
    puts(rb_buf_str(&out));
}

static void print_text(const char *program)
{
    size_t column = 0;
    printf("%s %s\nbuild %s, %s\nformats", program, RB_VERSION, RB_BUILD, COMPILER);
    for (size_t i = 0; i < N_FORMATS; i++) {
        column = column + strlen(formats[i]) + 1 > 70 ? 0 : column;
        printf("%s%s", i > 0 && column == 0 ? "\n        " : " ", formats[i]);
        column += strlen(formats[i]) + 1;
    }
    putchar('\n');
}

bool rb_version_asked(const char *program, int argc, char **argv)
{
    bool asked = false, json = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        asked = asked || strcmp(argv[i], "--version") == 0;
        json = json || strcmp(argv[i], "--json") == 0;
    }
    if (asked)
        (json ? print_json : print_text)(program);
    return asked;
}
