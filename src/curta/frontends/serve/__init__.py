"""The runs folder as pages over HTTP, for this machine alone; needs the extra `serve`.

`server.py` says who may ask, which address is which page, and what a browser may do with it. What
is shown comes from the files of the runs: `listing.py` finds them, `server.py` makes their reports
and pages, `live.py` hands out the metrics of a run in training as they are written. Nothing is ever
taken from an address but the name of a run, or that of a file in `static`. `playground.py` is the
form of a new run; trainings that pages may begin and stop, with a token, wait in a queue.
"""
