"""Reports: pages, figures and tables of a run or of a comparison.

They read only the files of the folder, so a report can be written anywhere and at any time,
without the code or the device that trained the model.
"""
