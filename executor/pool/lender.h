// Lends the nodes of one run, the owner, to other runs of the same process. To a borrower it is a cloud: its launches take
// the owner's nodes one after the other, as they become ready; its terminations give them back. Nothing is bought or ended.
#ifndef RB_EXECUTOR_LENDER_H
#define RB_EXECUTOR_LENDER_H

#include "executor/controller/controller.h"

struct rb_lender;
struct rb_lender *rb_lender_create(const struct rb_loop *loop);
void rb_lender_destroy(struct rb_lender *l); // after the borrowers' providers; NULL is fine
// Whose nodes. Until it is told, nothing is lent; the owner outlives the borrowers' providers.
void rb_lender_own(struct rb_lender *l, const struct rb_controller *owner);

// A provider for one more borrower. rows: what the borrower's journal says of its launches, [n].
void rb_lender_open(struct rb_lender *l, const struct rb_launch_row *rows, int n, struct rb_provider *out);
// The owner's number of the node that was lent as `instance_id`, -1: none yet, or it is over.
int rb_lender_node(const struct rb_provider *borrower, const char *instance_id);
// A launcher that is told of lent nodes and reaches the owner's. Takes `over` over.
struct rb_launcher *rb_lender_reach(const struct rb_provider *borrower, struct rb_launcher *over);

#endif
