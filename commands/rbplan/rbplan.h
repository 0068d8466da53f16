// Parts of rbplan.
#ifndef RB_COMMANDS_RBPLAN_H
#define RB_COMMANDS_RBPLAN_H

#include "commands/rbplan/rbplan_inputs.h"
#include "engine/plan/plan.h"
#include "planner/quality/best.h"
#include "planner/quality/target.h"
#include "planner/search/planner.h"
#include "views/tables/text_table.h"

extern const struct rb_command rb_plan_approve, rb_plan_diff, rb_plan_explain, rb_plan_import, rb_plan_init;

// Fills in what the planner cannot know: the tool, the job's path as seen from `output` (NULL: from here), the digests.
void rb_plan_sign(struct rb_plan *plan, struct rb_plan_inputs *in, const char *output);
// --with-replanning: *io, which keeps its limits by itself, gives way to a cheaper one if there is one whose runs keep them
// because they are re-planned. *out: what such runs cost, one line. Takes a minute and more of CPU time.
bool rb_plan_with_replanning(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                             struct rb_plan *io, struct rb_buf *out, struct rb_err *err);
// --at PLACE: where the controller will be, and what its machine costs by the hour, by the prices of *in. *out NULL: not asked.
bool rb_plan_at_begin(const struct rb_args *args, struct rb_plan_inputs *in, const struct rb_plan_controller **out,
                      struct rb_err *err);
// rb_make_plan beside a controller (NULL: none): what its machine may cost is taken off the budget of *req, which stays so.
bool rb_plan_at_make(struct rb_plan_request *req, const char *planner, const struct rb_plan_controller *controller,
                     struct rb_arena *arena, struct rb_plan *out, struct rb_plan_result *result, struct rb_err *err);
// Counts what the machine costs beside the finished plan. controller: that of rb_plan_at_make's plan; NULL: none.
void rb_plan_at_count(const struct rb_plan_controller *controller, struct rb_plan *plan, struct rb_arena *arena);
// Checks the age of the plan's prices: with --max-price-age, one that is older or of unknown age is an error (exit 7);
// otherwise it is a warning on stderr.
bool rb_plan_check_prices(const struct rb_args *args, const struct rb_plan *plan, struct rb_err *err);
// Saves where --output says, and prints: the table, with what metric.target is expected to cost, or the plan with
// --json.
bool rb_plan_report(const struct rb_args *args, const struct rb_plan *plan, const struct rb_marginal *marginal,
                    const struct rb_quality_law *law, struct rb_err *err);
bool rb_plan_save(const struct rb_plan *plan, const char *path, struct rb_err *err);

// --html FILE, --gantt FILE.svg: writes the plan as a page, with the effect of other deadlines and changes (planned as
// `req`, each with its time limit), and as a picture. Without either: nothing. The check tests the names of these
// files, and of --pareto's, before any planning.
bool rb_plan_check_pictures(const struct rb_args *args, struct rb_err *err);
// best: on the page as well; NULL: none.
struct rb_best_for;
bool rb_plan_draw(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                  const struct rb_plan_result *result, const struct rb_best_for *best, struct rb_err *err);

// Simulates a plan `n` times, on replicates that the estimate did not use, some of them through the engine as well.
// Appends the distance of the estimate from these runs in standard errors.
bool rb_plan_verify(const struct rb_plan *plan, int n, struct rb_buf *out, struct rb_err *err);

// --best-for USD: the search that finds the best model for that, and its plan; with --pareto FILE what other budgets
// find. in: of the request.
bool rb_plan_best_for(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_quality_law *law,
                      struct rb_plan_inputs *in, struct rb_err *err);
// --blackbox TABLE: the law of quality of its configurations; else with --best-for and without --cold that of earlier
// runs in the profile store; else the prior.
bool rb_plan_open_law(const struct rb_args *args, const struct rb_job *job, struct rb_arena *arena,
                      struct rb_quality_law *out, struct rb_err *err);

// --pareto FILE.json, FILE.svg: saves or draws the frontier there and prints it as a table, or as JSON with --json.
bool rb_plan_pareto(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);

// --what-if K=V[,K=V]: each is a row beside the request as it is.
bool rb_plan_what_if(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);
// --sensitivity: the same, with each input changed a little by itself.
bool rb_plan_sensitivity(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);

// A line on the terminal shows how long planning has taken. This erases it before anything else is printed; it comes
// back.
void rb_plan_wipe_line(void);

// Prints everything on stdout after planning; frees.
bool rb_plan_print(struct rb_buf *out, struct rb_err *err);

#endif
