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
    """Optuna's distribution of one of a job's `parameters`; its default is in what `hello` says."""
    if "values" in parameter:
        return CategoricalDistribution(parameter["values"])
    kind = parameter["distribution"]
    if kind not in ("int_uniform", "uniform", "log_uniform", "q_uniform"):
        raise SystemExit("Optuna has no distribution " + kind)
    low, high, step = parameter["min"], parameter["max"], parameter.get("q")
    if isinstance(low, int) and isinstance(high, int) and isinstance(step or 1, int) and kind != "log_uniform":
        return IntDistribution(low, high, step=step or 1)
    return FloatDistribution(low, high, step=step, log=kind == "log_uniform")


def propose(trial, name, d):
    if isinstance(d, CategoricalDistribution):
        return trial.suggest_categorical(name, d.choices)
    if isinstance(d, IntDistribution):
        return trial.suggest_int(name, d.low, d.high, step=d.step)
    return trial.suggest_float(name, d.low, d.high, step=d.step, log=d.log)


def new_study(hello):
    # Trials that are still training count as bad ones, so that two questions in a row do not get the same answer.
    sampler = optuna.samplers.TPESampler(seed=hello["seed"] % 2**32, multivariate=True, group=True, constant_liar=True)
    return optuna.create_study(direction=hello["metric"]["goal"], sampler=sampler)


class Adapter:
    def __init__(self, hello):
        self.parameters = hello["parameters"]
        self.space = {name: distribution(p) for name, p in self.parameters.items() if isinstance(p, dict)}
        self.study = new_study(hello)
        self.asked = {}     # trial -> Optuna's trial, while it is open
        self.values = {}    # trial -> what was proposed
        self.reported = {}  # trial -> {resource: metric}

    def begin(self, trial, values):
        self.values[trial] = {name: value for name, value in values.items() if name in self.space}
        self.reported[trial] = {}

    def values_of(self, trial):
        """In the order of the job, where a parameter comes after the one that its `if` names."""
        values = {}
        for name, parameter in self.parameters.items():
            if name not in self.space:
                values[name] = parameter  # a constant
            elif all(values.get(parent) in allowed for parent, allowed in parameter.get("if", {}).items()):
                values[name] = propose(trial, name, self.space[name])
        return values

    def ask(self, message):
        trial = message["trial"]
        self.close(trial)  # a second question about it: the first answer was not accepted
        self.asked[trial] = self.study.ask()
        values = self.values_of(self.asked[trial])
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
        values = self.values[trial]
        self.study.add_trial(create_trial(
            params=values, distributions={name: self.space[name] for name in values}, intermediate_values=dict(self.reported[trial]),
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
