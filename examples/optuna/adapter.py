#!/usr/bin/env python3
"""Optuna as the optimiser of a job: its TPE sampler behind rb-search/1, the lines of JSON that docs/formats/search.md
describes. Works with Optuna 3.1 and later. Put another sampler into new_study() to use it."""
import json
import sys

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial


def send(**message):
    print(json.dumps(message), flush=True)


def distribution(parameter):
    """Of one entry of a job's `parameters`; None: it is no range or list that Optuna samples."""
    if not isinstance(parameter, dict):
        return None  # a constant
    if "values" in parameter:
        return CategoricalDistribution(parameter["values"])
    low, high = parameter["min"], parameter["max"]
    step = parameter.get("q")
    if all(isinstance(n, int) for n in (low, high, step or 1)) and parameter.get("distribution") in (None, "int_uniform", "q_uniform"):
        return IntDistribution(low, high, step=step or 1)
    if step:
        return FloatDistribution(low, high, step=step)
    return FloatDistribution(low, high, log=parameter.get("distribution") == "log_uniform")


def new_study(hello):
    # Trials that are still training count as bad ones, so that two questions in a row do not get the same answer.
    sampler = optuna.samplers.TPESampler(seed=hello["seed"], multivariate=True, constant_liar=True)
    return optuna.create_study(direction=hello["metric"]["goal"], sampler=sampler)


class Adapter:
    def __init__(self, hello):
        self.space, self.constants = {}, {}
        for name, parameter in hello["parameters"].items():
            found = distribution(parameter)
            if found:
                self.space[name] = found
            else:
                self.constants[name] = parameter
        self.study = new_study(hello)
        self.asked = {}     # trial -> Optuna's trial, while it is open
        self.values = {}    # trial -> what was proposed
        self.reported = {}  # trial -> {resource: metric}

    def begin(self, trial, values):
        self.values[trial] = {name: values[name] for name in self.space}
        self.reported[trial] = {}

    def ask(self, message):
        trial = message["trial"]
        self.close(trial)  # a second question about it: the first answer was not accepted
        self.asked[trial] = self.study.ask(self.space)
        values = dict(self.constants, **self.asked[trial].params)
        self.begin(trial, values)
        send(type="suggest", id=message["id"], values=values, reason="Optuna trial %d" % self.asked[trial].number)

    def close(self, trial):
        if trial in self.asked:
            self.study.tell(self.asked.pop(trial), state=TrialState.FAIL)

    def tell(self, message):
        """Optuna does not continue a trial that has a result. So each time that a trial pauses or ends its result is added as
        a trial of its own, and the one that was asked for is closed."""
        trial, metric = message["trial"], message.get("metric")
        if trial not in self.values:
            return
        if metric is not None and message["resource"] > 0:
            self.reported[trial][message["resource"]] = metric
        if message["state"] == "running":
            return
        self.close(trial)
        ended = message["state"] == "ended" and metric is not None
        self.study.add_trial(create_trial(
            params=self.values[trial], distributions=self.space, intermediate_values=dict(self.reported[trial]),
            value=metric if ended else None, state=TrialState.COMPLETE if ended else TrialState.PRUNED))


def main():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    adapter = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            adapter = Adapter(message)
            send(type="ready", name="optuna " + optuna.__version__)
        elif message["type"] == "ask":
            adapter.ask(message)
        elif message["type"] == "replay":
            adapter.begin(message["trial"], message["values"])
        elif message["type"] == "tell":
            adapter.tell(message)


if __name__ == "__main__":
    main()
