// Lists of texts, as job.yaml has them. The strings are the arena's of the job.
#ifndef RB_PROFILES_JOB_TEXTS_H
#define RB_PROFILES_JOB_TEXTS_H

struct rb_string_list {
    const char *const *items;
    int n;
};

struct rb_key_value {
    const char *key, *value;
};

#endif
