// A temporary HOME with the files of the AWS tools, and an environment without their variables.
#ifndef RB_TESTS_PROVIDERS_HOME_H
#define RB_TESTS_PROVIDERS_HOME_H

void home_begin(void);                            // HOME is a new empty directory, no AWS_* variable is set
void home_end(void);                              // removes it
int home_set_up(void **state);                    // likewise, as cmocka calls them before and after each test
int home_set_up_with_keys(void **state);          // and with the keys test, secret
int home_tear_down(void **state);
void home_write(const char *name, const char *text, int mode); // name: "credentials", "config", "tool"
const char *home_path(const char *name);          // of that file; valid until the next call

#endif
