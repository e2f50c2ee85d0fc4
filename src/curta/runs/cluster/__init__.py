"""Runs as tasks of a cluster, or of several processes of this machine.

job.py       what was submitted, and the files that tell how far it is
submission.py divides runs into tasks and hands these over
queue.py     which tasks still wait or work, and how to end them
states.py    what is known of each run, put together
"""
