// What the reports of one run say of time: how long its units, its start-up and its checkpoint took. Nothing is measured
// across a gap, in which this process did not run: what was printed meanwhile is read only afterwards. Units whose reports
// were read together share their time.
#ifndef RB_EXECUTOR_REPORT_TIMES_H
#define RB_EXECUTOR_REPORT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

// `now` and `away` below are the loop's time and the length of all its gaps so far, in microseconds.
struct rb_report_times {
    double *unit_s; // [n_units], room for `most`
    int n_units, most;
    int64_t started_us, first_us, last_us; // loop time; first, last: -1 before the first report
    int64_t first_resource, last_resource; // reported; 0: nothing
    int64_t away_us;                       // when it was last heard, or started
    int n_gaps;                            // units that a gap kept from being measured
    bool late_startup;                     // the same for its start-up
    bool at_once;                          // the first reports came together, from a file: no time of a unit was seen
};

// Units beyond `most` are not kept.
void rb_report_times_init(struct rb_report_times *t, int most);
void rb_report_times_finish(struct rb_report_times *t);
void rb_report_times_start(struct rb_report_times *t, int64_t now, int64_t away);
// A report of more than the last one. counts: a unit that ends here may be measured. Returns the microseconds since the
// report before, -1: it is the first.
int64_t rb_report_times_take(struct rb_report_times *t, int64_t now, int64_t away, int64_t resource, bool counts);
// What a file held was taken in one go, since there were n_before units; first: no report had come before.
void rb_report_times_took_file(struct rb_report_times *t, int n_before, bool first);
// All was reported at once, from a file or in lines that a busy machine read together: the run's time, start-up included, is
// that of its units. Returns whether that was so.
bool rb_report_times_as_one(struct rb_report_times *t, int64_t now);
// The run has ended: units whose lines were read together share their time. The first ones, if no line before them was read
// alone, are dropped.
void rb_report_times_end(struct rb_report_times *t);
// Did a gap begin since it was last heard? It is heard now.
bool rb_report_times_was_away(struct rb_report_times *t, int64_t away);
double rb_report_times_mean_s(const struct rb_report_times *t); // NAN: no unit
// Before the first report, less the units that it reported, which count as long as the mean; at least 0.
double rb_report_times_startup_s(const struct rb_report_times *t);

#endif
