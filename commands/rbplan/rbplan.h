// Parts of rbplan: each subcommand takes its own command line and returns the exit code.
#ifndef RB_COMMANDS_RBPLAN_H
#define RB_COMMANDS_RBPLAN_H

#include "commands/rbplan/rbplan_inputs.h"
#include "engine/plan/plan.h"
#include "planner/search/planner.h"
#include "views/tables/text_table.h"

// Parses argv, prints help or runs; prints the error if there is one. Returns the exit code.
typedef bool rb_plan_run_fn(const struct rb_args *args, struct rb_err *err);
int rb_plan_carry_out(const struct rb_command *command, rb_plan_run_fn *run, int argc, char **argv);

int rb_plan_approve(int argc, char **argv);
int rb_plan_diff(int argc, char **argv);
int rb_plan_explain(int argc, char **argv);
int rb_plan_import(int argc, char **argv);
int rb_plan_init(int argc, char **argv);

// Fills what the planner could not know: the tool, the job's path as seen from `output` (NULL: from here), the digests.
void rb_plan_sign(struct rb_plan *plan, struct rb_plan_inputs *in, const char *output);
// How old the prices behind the plan are: with --max-price-age an error (exit 7) where one is older or of unknown age, else
// a warning on stderr.
bool rb_plan_check_prices(const struct rb_args *args, const struct rb_plan *plan, struct rb_err *err);
// Saves where --output says, and prints: the table, or the plan with --json.
bool rb_plan_report(const struct rb_args *args, const struct rb_plan *plan, const struct rb_marginal *marginal,
                    struct rb_err *err);

// --html FILE, --gantt FILE.svg: the plan as a page, with what other deadlines and changes would mean (planned as `req`, each
// with its time limit), and as a picture. Without either: nothing. check: the names of these files, and
// of --pareto's, before any planning.
bool rb_plan_check_pictures(const struct rb_args *args, struct rb_err *err);
bool rb_plan_draw(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_plan *plan,
                  const struct rb_plan_result *result, struct rb_err *err);

// Simulates a plan `n` times, on replicates the estimate did not use, some of them through the engine as well, and
// appends how far the estimate is from that in standard errors.
bool rb_plan_verify(const struct rb_plan *plan, int n, struct rb_buf *out, struct rb_err *err);

// --pareto FILE.json, FILE.svg: the frontier, saved or drawn there and printed as a table, or as it is with --json.
bool rb_plan_pareto(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);

// --what-if K=V[,K=V], each a row beside the request as it is.
bool rb_plan_what_if(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);
// --sensitivity: the same with each input changed a little by itself.
bool rb_plan_sensitivity(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);

// While plans are made, a line on the terminal says for how long. Before anything else is printed it is wiped; it comes back.
void rb_plan_wipe_line(void);

// Everything to stdout, and planning is over; frees.
bool rb_plan_print(struct rb_buf *out, struct rb_err *err);

#endif
