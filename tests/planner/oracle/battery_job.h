// Random jobs for the batteries, by class. The same class and number give the same job.
#ifndef RB_TESTS_PLANNER_BATTERY_JOB_H
#define RB_TESTS_PLANNER_BATTERY_JOB_H

#include "every_plan.h"

#include "base/text/buf.h"
#include "planner/search/planner.h"

#define BATTERY_CLASSES "abcdefg"

struct battery_job {
    char class_;                  // one of BATTERY_CLASSES
    uint32_t number;
    struct rb_arena arena;
    struct rb_doc job_doc, profile_doc;
    struct rb_csv prices_csv;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_plan_request req;   // as rbplan asks, with the constraints of the battery
    struct rb_buf text;           // job, profile and prices, for people
    struct oracle oracle;         // on the catalogue's offers
    struct every_space space;
};

// false: the text was refused (err says why), or no size fits or a stage has too many choices (err is empty); finish it
// all the same. Owns: battery_job_finish.
bool battery_job_init(struct battery_job *b, char class_, uint32_t number, struct rb_err *err);
void battery_job_finish(struct battery_job *b);
const char *battery_class_says(char class_); // a few words

#endif
