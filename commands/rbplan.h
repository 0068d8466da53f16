// Parts of rbplan: each subcommand takes its own command line and returns the exit code.
#ifndef RB_COMMANDS_RBPLAN_H
#define RB_COMMANDS_RBPLAN_H

#include "commands/rbplan_inputs.h"
#include "engine/plan.h"
#include "views/text_table.h"

// Parses argv, prints help or runs; prints the error if there is one. Returns the exit code.
typedef bool rb_plan_run_fn(const struct rb_args *args, struct rb_err *err);
int rb_plan_carry_out(const struct rb_command *command, rb_plan_run_fn *run, int argc, char **argv);

int rb_plan_diff(int argc, char **argv);
int rb_plan_explain(int argc, char **argv);

// Re-simulates a plan `n` times through the engine in the virtual world, on replicates the estimate did not use, and
// appends how far that is from the estimate in standard errors.
bool rb_plan_verify(const struct rb_plan *plan, int n, struct rb_buf *out, struct rb_err *err);

// How stdout wants its text. print: everything to stdout; frees.
struct rb_text_style rb_plan_style(void);
bool rb_plan_print(struct rb_buf *out, struct rb_err *err);

#endif
