"""Pages and figures of a run, or of a comparison, that need nothing but themselves.

Only the files of the folder are read: a report can be written anywhere, later,
without the code or the device that trained the model.
"""
