// The project of the machine that this program runs on, as its metadata service says it.
#ifndef RB_PROVIDERS_GOOGLE_PROJECT_H
#define RB_PROVIDERS_GOOGLE_PROJECT_H

#include "base/errors/err.h"

// service: URL of the metadata service. Blocks, for 5 s at most: the service is on this machine's own link, and every
// request of the cloud names the project. Error: GCP_PROJECT.
bool rb_google_project_of_machine(const char *service, char out[static 64], struct rb_err *err);

#endif
