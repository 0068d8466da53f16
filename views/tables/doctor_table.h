// The findings of `rbrun doctor`: a line for each, or rb-doctor/1.
#ifndef RB_VIEWS_DOCTOR_TABLE_H
#define RB_VIEWS_DOCTOR_TABLE_H

#include "executor/doctor/doctor.h"

bool rb_doctor_show(const struct rb_doctor *d, bool json, struct rb_err *err); // prints

#endif
