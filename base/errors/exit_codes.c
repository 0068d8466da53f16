#include "base/errors/exit_codes.h"

#include <stddef.h>

const struct rb_exit_meaning rb_exit_meanings[] = {
    {RB_CODE_OK, "success"},
    {RB_CODE_FAILED, "the system, a cloud or a peer failed"},
    {RB_CODE_INVALID, "wrong usage or bad input; the message names file, line, column and key"},
    {RB_CODE_INFEASIBLE, "no plan keeps the constraints; the nearest deadline, budget and confidence are printed"},
    {RB_CODE_STOPPED, "the deadline was missed or the budget was spent while running"},
    {RB_CODE_DENIED, "credentials, a permission or a quota are missing"},
    {RB_CODE_CAPACITY, "the cloud has no such machines now"},
    {RB_CODE_PRICE, "a price is missing or too old"},
    {RB_CODE_INCOMPLETE, "incomplete: the run is over and no trial was trained to the end"},
    {RB_CODE_BROKEN_SCRIPT, "the training script is broken: its first trials all failed in the same way"},
    {RB_CODE_INTERRUPTED, "interrupted, after cleaning up"},
    {0},
};
