"""What each figure of a report shows, for readers who cannot see it."""

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line; validation dashed.",
    "learning-linear": "The same with the loss on a linear axis.",
    "watched": "Exact match against training step, one panel per operator: on problems of "
    "training, on held-out ones, dashed, and by size; one thin line per member, the median thick.",
    "watched-log": "The same against the logarithm of the step.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "operator: every member in its hardest slice and the median over members. "
    "The table above holds the values of every slice.",
    "held-out": "Exact match of held-out problems by how they are written: a bar up to the median "
    "of the members, a dot for each.",
    "answers": "Histogram of the answers, a line for each part of the problems.",
    "grid": "Heat map of the median exact match for every pair of operand lengths.",
    "certificate": "Distinct windows found against recorded tokens, on a logarithmic axis.",
}
"""By the name of the figure."""
