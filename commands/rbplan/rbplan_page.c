// rbplan --html, --gantt: a plan as a page for a browser, and as a picture.
#include "commands/rbplan/rbplan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/errors/log.h"
#include "views/pages/plan_document.h"

bool rb_plan_check_pictures(const struct rb_args *args, struct rb_err *err)
{
    static const struct {
        const char *option, *ending, *other, *hint;
    } pictures[] = {{"html", ".html", NULL, ""},
                    {"gantt", ".svg", NULL, "; for a page: --html FILE.html"},
                    {"pareto", ".json", ".svg", "; for a page: --html FILE.html"}};
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        const char *path = rb_args_string(args, pictures[i].option, NULL), *ending = pictures[i].ending,
                   *other = pictures[i].other;
        if (path && !rb_has_ending(path, ending) && !(other && rb_has_ending(path, other)))
            return rb_err_set(err, RB_E_PICTURE_NAME, "--%s %s: expected a name that ends with %s%s%s%s",
                              pictures[i].option, path, ending, other ? " or " : "", other ? other : "",
                              pictures[i].hint);
    }
    return true;
}

// Plans other deadlines and changes.
static bool plan_beside(const struct rb_args *args, const struct rb_plan_request *req,
                        const struct rb_plan_result *result, struct rb_arena *arena, struct rb_plan_document *x,
                        struct rb_err *err)
{
    const char **texts = rb_arena_array(arena, (size_t)args->n_given + 1, sizeof *texts);
    int n = 0;
    while ((texts[n] = rb_args_nth(args, "what-if", n)))
        n++;
    rb_plan_wipe_line();
    rb_info("planning again for the page: other deadlines, and what if");
    return rb_plan_beside(req, x->plan, result, texts, n, arena, &x->beside, err);
}

bool rb_plan_draw(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                  const struct rb_plan_result *result, const struct rb_best_for *best, struct rb_err *err)
{
    const char *gantt = rb_args_string(args, "gantt", NULL), *html = rb_args_string(args, "html", NULL);
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_plan_document x = {.plan = plan, .best_for = best, .written_at_us = rb_clock_unix_us()};
    if (!gantt && !html)
        return true;
    if (!rb_plan_document_simulate(&x, req->threads, html, err) ||
        (gantt && !rb_plan_document_save_gantt(&x, gantt, err)))
        return false;
    return !html || (plan_beside(args, req, result, &arena, &x, err) && rb_plan_document_save_page(&x, html, err));
}
