// Lends the nodes of one run, the owner, to other runs of the same process. A borrower sees a cloud: its launches take
// the owner's nodes one after the other, as they become ready; its terminations give them back. Nothing is launched or
// ended.
#ifndef RB_EXECUTOR_LENDER_H
#define RB_EXECUTOR_LENDER_H

#include "executor/controller/controller.h"

struct rb_lender;
struct rb_lender *rb_lender_create(const struct rb_loop *loop);
void rb_lender_destroy(struct rb_lender *l); // after the borrowers' providers; NULL is fine
// Sets the owner. Nothing is lent before; the owner outlives the borrowers' providers.
void rb_lender_own(struct rb_lender *l, const struct rb_controller *owner);

// Makes a provider for one more borrower. rows: the launches in the borrower's journal, [n].
void rb_lender_open(struct rb_lender *l, const struct rb_launch_row *rows, int n, struct rb_provider *out);
// The owner's number of the node that was lent as `instance_id`, -1: none yet, or the loan is over.
int rb_lender_node(const struct rb_provider *borrower, const char *instance_id);
// Replaces a lent node by the owner's: its id, address and host key. Nothing is changed where the loan is over: no
// answer will come from there, and the next listing shows it.
void rb_lender_find_machine(const struct rb_provider *borrower, struct rb_launch_node *node);

#endif
