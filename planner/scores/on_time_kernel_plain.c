// Built with the flags of all other files.
#include "planner/scores/on_time_body.h"

const struct rb_on_time_kernel rb_on_time_kernel_plain = {multiply, below, below_with, transforms_below};
