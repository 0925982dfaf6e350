"""The runner `ray`: the tasks of a query's stages on the nodes of a Ray cluster.

joining.py         which Ray cluster this process uses
head.py            whether the head of the cluster is there
calls.py           Ray's functions, as they are where Ray may end at any moment
cluster.py         the connection to a Ray cluster and its workers, one for each node
worker.py          what runs on a node: one DuckDB, one cursor for each task
private_folder.py  the folder of a worker, which nobody else touches
plan.py            the plan document as objects; the SQL of a task
query.py           runs one query: which task next, on which worker; retries; lost exchanges; cancel
failures.py        which errors are worth another attempt
threads.py         starting a thread is an error where the system refuses it
progress.py        what the user sees while it runs
report.py          what merganser.last_query() tells
runner.py          what the extension calls
"""

from merganser.ray.runner import shutdown, use

__all__ = ["shutdown", "use"]
