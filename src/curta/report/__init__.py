"""Turns the folder of a training run into a report that stands on its own.

Only the files of the run are read: a report can be written anywhere, later,
without the code or the device that trained the model.
"""

from .page import write_report

__all__ = ["write_report"]
