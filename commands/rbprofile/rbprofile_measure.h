// The measuring campaigns of rbprofile: they run the user's command, or only launch nodes, and record the times.
#ifndef RB_COMMANDS_RBPROFILE_MEASURE_H
#define RB_COMMANDS_RBPROFILE_MEASURE_H

// argv[0] is the subcommand's name; options and positionals follow. Return the exit code.
int rb_profile_train(int argc, char **argv);
int rb_profile_provision(int argc, char **argv);

#endif
