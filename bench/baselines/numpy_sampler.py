#!/usr/bin/python3
"""The same model in numpy: static chains, every stage of a chunk of replicates at once. SFC64, the fastest of its
generators, in single precision; chunks of 256k numbers, which stay in the second-level cache.

    numpy_sampler.py REPLICATES < description
"""
import math
import sys
import time

import numpy as np

NUMBERS_IN_A_CHUNK = 256 * 1024


class Law:
    def __init__(self, kind, mean, cv):
        self.is_normal = kind == "normal"
        mean, cv = float(mean), float(cv)
        sigma2 = math.log1p(cv * cv)
        self.a, self.b = (mean, mean * cv) if self.is_normal else (math.log(mean) - sigma2 / 2, math.sqrt(sigma2))

    def draw(self, rng, shape):
        x = rng.standard_normal(shape, dtype=np.float32)
        x *= np.float32(self.b)
        x += np.float32(self.a)
        if not self.is_normal:
            return np.exp(x, out=x)
        while x.min() < 0:  # truncated at 0
            negative = x < 0
            x[negative] = self.a + self.b * rng.standard_normal(int(negative.sum()), dtype=np.float32)
        return x


class Model:
    def __init__(self, lines):
        self.stages = []
        for name, *words in (line.split() for line in lines):
            if name == "node":
                self.gpus, self.usd_per_s = int(words[0]), float(words[1]) / 3600
            elif name == "stage":
                trials, mean_s, gpus, nodes = int(words[0]), float(words[1]), int(words[2]), int(words[3])
                per_node, per_slot = self.gpus // gpus, -(-gpus // self.gpus)
                slots = nodes * per_node if per_node else nodes // per_slot
                self.stages.append((trials, mean_s, nodes, min(slots, trials)))
            else:
                setattr(self, name, Law(*words))

    def chains(self, rng, trials, slots, n):
        """Largest sum over slots: full waves, and a ragged last one on the first slots."""
        full, ragged = divmod(trials, slots)
        ends = self.factor.draw(rng, (slots, n))
        for _ in range(full - 1):
            ends += self.factor.draw(rng, (slots, n))
        if ragged:
            ends[:ragged] += self.factor.draw(rng, (ragged, n))
        return ends.max(axis=0)

    def run(self, rng, n):
        now, cost, owned = np.zeros(n), np.zeros(n), []
        for trials, mean_s, nodes, slots in self.stages:
            while sum(len(running) for running in owned) > nodes:
                surplus = sum(len(running) for running in owned) - nodes
                running = owned.pop()
                keep = max(len(running) - surplus, 0)
                cost += self.bill(now - running[keep:])
                if keep:
                    owned.append(running[:keep])
            new = nodes - sum(len(running) for running in owned)
            start = now
            if new > 0:
                running = now + self.queue.draw(rng, (new, n))
                start = (running + self.init.draw(rng, (new, n))).max(axis=0)
                owned.append(running)
            now = start + mean_s * self.chains(rng, trials, slots, n)
        for running in owned:
            cost += self.bill(now - running)
        return now, cost

    def bill(self, seconds):
        return self.usd_per_s * np.maximum(np.ceil(seconds), 60).sum(axis=0)


def main():
    replicates = int(sys.argv[1])
    model = Model(sys.stdin)
    rng = np.random.Generator(np.random.SFC64(1))
    chunk = max(1, NUMBERS_IN_A_CHUNK // max(slots for _, _, _, slots in model.stages))
    wall_s, cpu_s = time.monotonic(), time.process_time()
    pieces = [model.run(rng, min(chunk, replicates - at)) for at in range(0, replicates, chunk)]
    cpu_s, wall_s = time.process_time() - cpu_s, time.monotonic() - wall_s
    times, costs = (np.concatenate(column) for column in zip(*pieces))
    print("replicates", replicates, "trials", sum(stage[0] for stage in model.stages), "cpu_s", cpu_s, "wall_s", wall_s,
          "time_mean", times.mean(), "time_p95", np.quantile(times, 0.95), "cost_mean", costs.mean())


main()
