#!/bin/sh
# Watches over the trials of a node that is this machine, in the node's home: `.beat` holds the process of the controller, when it
# started, and for how many seconds trials may train without it. POSIX sh; heartbeats start it where it does not run.
# It counts seconds that it saw itself. So a machine that sleeps ends nothing, and neither does a controller that is suspended.
set -u
umask 077
home=$(pwd -P)

is_alive() { # PID STARTED: that process, and no other that has its number
    IFS='' read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
    started=$2
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" != Z ] && [ "${20}" = "$started" ]
}

find_trials() { # processes of trials: all have the name of their RB_PREEMPT_FILE in their environment
    trials=$(cd /proc && LC_ALL=C grep -lsF "RB_PREEMPT_FILE=$home/rb/" [0-9]*/environ | tr -dc '0-9\n')
    [ -n "$trials" ]
}

find_container() { # remembered: it must end if the folder is gone, too
    engine=''
    for file in rb/*/container; do
        [ ! -e "$file" ] || read -r engine name _ <"$file"
    done
}

end_supervisor() { # PID: of the trial that this process belongs to
    IFS='' read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    ! grep -qsF "$home/rb/" "/proc/$4/cmdline" || kill -s KILL -- "-$4" 2>/dev/null
}

end_trials() {
    for _ in 1 2 3 4 5; do # what is being ended may start another
        find_trials || break
        for pid in $trials; do end_supervisor "$pid"; done
        # shellcheck disable=SC2086
        kill -s KILL $trials 2>/dev/null
    done
    [ -z "$engine" ] || "$engine" rm -f "$name" >/dev/null 2>&1
}

engine='' left=''
while read -r pid began limit 2>/dev/null <.beat; do # false: the run's folder is gone
    find_container
    if is_alive "$pid" "$began"; then
        left=$limit
    else
        find_trials || [ -n "$engine" ] || exit 0
        left=$((${left:-$limit} - 1)) # the controller may have gone before our first look
        [ $left -gt 0 ] || break
    fi
    sleep 1
done
end_trials
