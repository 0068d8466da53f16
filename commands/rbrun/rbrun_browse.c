// rbrun browse and compare: many runs as a page, and two side by side.
#include "commands/rbrun/rbrun.h"

#include "base/file.h"
#include "views/run/browse.h"
#include "views/run/compare.h"
#include "views/run/run_list.h"

#include <string.h>

// --- browse

static const struct rb_option browse_options[] = {
    {"from", 0, RB_OPT_STRING, true, "DIR", "show the reports in a shared folder, too (rbrun export --to folder:DIR)",
     0, 0},
    {"shared-only", 0, RB_OPT_FLAG, false, NULL, "only the reports of --from, and no run of this machine", 0, 0},
    {"serve", 0, RB_OPT_STRING, false, "127.0.0.1:PORT", "where to serve the page (default: any port that is free)", 0,
     0},
    {"html", 0, RB_OPT_STRING, false, "FILE.html", "write the list as a page, and serve nothing", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

// Without a "/" at its end, so that one folder has one name.
static const char *folder_named(const char *text, struct rb_arena *arena)
{
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/')
        n--;
    return rb_arena_strndup(arena, text, n);
}

static bool collect(const struct rb_args *args, struct rb_arena *arena, struct rb_run_sources *out, struct rb_err *err)
{
    int n = 0;
    while (rb_args_nth(args, "from", n))
        n++;
    const char **folders = rb_arena_array(arena, (size_t)n + 1, sizeof *folders);
    for (int i = 0; i < n; i++)
        folders[i] = folder_named(rb_args_nth(args, "from", i), arena);
    *out = (struct rb_run_sources){.state_dir = rb_run_state_dir(args),
                                   .without_own = rb_args_flag(args, "shared-only"),
                                   .folders = folders,
                                   .n_folders = n};
    return !out->without_own || n > 0 ||
           rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--shared-only shows the reports of --from DIR: name a folder");
}

static bool browse(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_run_sources sources;
    const char *html = rb_args_string(args, "html", NULL), *serve = rb_args_string(args, "serve", NULL);
    const bool json = rb_args_flag(args, "json");
    if (!collect(args, &arena, &sources, err))
        return false;
    if (serve && (json || html))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--serve goes with neither --json nor --html: give one of them");
    if (html && !rb_has_ending(html, ".html"))
        return rb_err_set(err, RB_E_PICTURE_NAME, "--html %s: expected a name that ends with .html", html);
    if (!html && !json)
        return rb_browse_serve(&sources, serve ? serve : "127.0.0.1:0", err);
    return (!html || rb_browse_save(&sources, html, err)) && (!json || rb_run_list_print(&sources, true, err));
}

const struct rb_command rb_run_browse = {
    .name = "rbrun browse",
    .usage = "[options]",
    .summary =
        "Shows many runs as a page for a browser on this machine: states, dollars, deadlines, results; each leads "
        "to its own page, live while it runs, and two can be compared. Ends with Ctrl-C.",
    .examples = "  rbrun browse\n"
                "  rbrun browse --from /mnt/team/reports\n"
                "  rbrun browse --from /mnt/team/reports --shared-only --html /mnt/team/reports/index.html\n"
                "  rbrun browse --json\n",
    .options = browse_options,
    .run = browse,
};

// --- compare

static const struct rb_option compare_options[] = {
    {"html", 0, RB_OPT_STRING, false, "FILE.html", "write the comparison as a page, too", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

// "reports/bert-1" is a report in the folder reports.
static struct rb_run_ref ref_of(const char *text, struct rb_arena *arena)
{
    const char *named = folder_named(text, arena), *slash = strrchr(named, '/');
    if (!slash)
        return (struct rb_run_ref){NULL, named};
    const char *folder = slash == named ? "/" : rb_arena_strndup(arena, named, (size_t)(slash - named));
    return (struct rb_run_ref){folder, slash + 1};
}

static bool compare(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const char *html = rb_args_string(args, "html", NULL);
    if (html && !rb_has_ending(html, ".html"))
        return rb_err_set(err, RB_E_PICTURE_NAME, "--html %s: expected a name that ends with .html", html);
    const struct rb_run_ref two[2] = {ref_of(args->args[0], &arena), ref_of(args->args[1], &arena)};
    return rb_run_refs_print(rb_run_state_dir(args), two, rb_args_flag(args, "json"), html, err);
}

const struct rb_command rb_run_compare = {
    .name = "rbrun compare",
    .usage = "[options] RUN RUN",
    .summary =
        "Shows two runs side by side: what their jobs differ in, dollars and times expected and actual, the best "
        "configurations, rung by rung. RUN: its id, its job's name, or the beginning of either; DIR/RUN: a report "
        "in a shared folder.",
    .examples = "  rbrun compare digits-20261123-200159-nylxdb digits-20261124\n"
                "  rbrun compare digits-20261124 /mnt/team/reports/digits-20261123-200159-nylxdb\n"
                "  rbrun compare digits-20261123 digits-20261124 --html compare.html\n",
    .options = compare_options,
    .min_args = 2,
    .max_args = 2,
    .run = compare,
};
