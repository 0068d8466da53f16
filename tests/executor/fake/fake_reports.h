// Nothing that a trial reported may get lost.
#ifndef RB_TESTS_FAKE_REPORTS_H
#define RB_TESTS_FAKE_REPORTS_H

#include "executor/journal/journal.h"
#include "fake_launcher.h"

bool fake_same_metric(double a, double b); // NaN is itself

// Lines of processes whose work counted (their checkpoint was saved) that are not in the journal, or are there more
// often than they were printed.
int fake_reports_lost(const struct fake_machines *m, struct rb_journal *journal);

#endif
