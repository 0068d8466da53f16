// What rbprofile prints: fits, names and prices, as tables for people and as JSON for programs.
#ifndef RB_VIEWS_PROFILE_TABLE_H
#define RB_VIEWS_PROFILE_TABLE_H

#include "base/text/buf.h"
#include "profiles/store/ended.h"

// record: how predictions with the profile fared. r NULL: there is no profile of that name.
void rb_show_fit(const char *name, const struct rb_fit_report *r, const struct rb_record *record, struct rb_buf *out);
void rb_show_fit_json(const char *name, const struct rb_fit_report *r, const struct rb_record *record,
                      struct rb_buf *out); // rb-fit/1

void rb_show_names(const struct rb_profile_name *names, int n, struct rb_buf *out);
void rb_show_names_json(const struct rb_profile_name *names, int n, struct rb_buf *out); // rb-profiles/1

// infra NULL: all; ages are as of now_us.
void rb_show_prices(const struct rb_catalog *c, const char *infra, int64_t now_us, struct rb_buf *out);
void rb_show_prices_json(const struct rb_catalog *c, const char *infra, struct rb_buf *out); // rb-prices/1

#endif
