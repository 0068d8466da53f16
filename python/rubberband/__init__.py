"""Plans hyperparameter tuning jobs on clouds: time, cost and their probabilities before anything is rented, and the cheapest
plan that keeps a deadline and a budget. Carries plans out.

    job = rubberband.load("job.yaml", deadline="2h")
    plan = job.plan(profile="profile.yaml", prices=["aws.csv"])
    plan.cost.p95, plan.time.p50, plan.stages, plan.to_dict(), plan.to_pandas()
    run = rubberband.run(plan, approval="approval.json")
    run.status().spent, run.wait().cost.actual

Planning is done by librubberband in this process, without network, store or environment; runs are processes of rbrun. Money is
Decimal dollars, time is timedelta. A training script that reports needs only the one file rubberband_trial.py.

Threads: Job, Profile, Prices and Plan never change, and threads may share them. The interpreter's lock is released while a plan
is searched, so that threads plan at the same time."""
from ._errors import Error, Infeasible
from ._estimate import Estimate, Figures, Nodes, Stage
from ._job import Job, Prices, Profile, load, parse, version
from ._plan import Plan
from ._programs import Record
from ._prototypes import VERSION as __version__
from ._run import Run, resume, run

__all__ = ["Error", "Estimate", "Figures", "Infeasible", "Job", "Nodes", "Plan", "Prices", "Profile", "Record", "Run", "Stage",
           "__version__", "load", "parse", "resume", "run", "version"]
