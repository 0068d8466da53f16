// The machine that was made for a run's controller (executor/away/machine.h), in the run's journal: what it is, and from when to
// when it is billed. A journal without the table belongs to a run whose controller is on a machine that was there anyway.
#ifndef RB_EXECUTOR_MACHINE_ROW_H
#define RB_EXECUTOR_MACHINE_ROW_H

#include "executor/journal/journal.h"

struct rb_machine_row {
    char infra[64], instance_type[64], instance_id[128]; // instance_id "": there is no such machine
    int64_t uusd_per_hour;
    int64_t running_unix_us;
    int64_t ends_unix_us;  // when its switch ends it, known once the run is over; -1: the run goes on
    int64_t ended_unix_us; // seen to have ended; -1: not
};

bool rb_machine_row_read(struct rb_journal *j, struct rb_machine_row *out, struct rb_err *err);
bool rb_machine_row_write(struct rb_journal *j, const struct rb_machine_row *row, struct rb_err *err);
// Its bill. Where its end was not seen: until its switch ends it, which is the most; where the run goes on: until now.
int64_t rb_machine_row_cost_uusd(const struct rb_machine_row *row, int64_t now_unix_us);

#endif
