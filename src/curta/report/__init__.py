"""Pages and figures of a run, or of a comparison, that need nothing but themselves.

Only the files of the folder are read: a report can be written anywhere, later,
without the code or the device that trained the model.
"""

from curta.report.comparison import write_comparison, write_together
from curta.report.page import write_report

__all__ = ["write_comparison", "write_report", "write_together"]
