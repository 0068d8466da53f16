// The machine that is made for a run's controller unless the job names another (executor/away/machine.h): a small general one, of
// the architecture that this program is built for. Beside the table of providers, because rbplan asks and is linked without them.
#ifndef RB_PROVIDERS_CONTROLLER_TYPE_H
#define RB_PROVIDERS_CONTROLLER_TYPE_H

// infra: "aws/us-east-1". NULL: none is made there.
const char *rb_controller_type(const char *infra);

#endif
