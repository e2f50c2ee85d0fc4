"""Activations by name, and interventions on them: the tools of mechanistic probes.

`activations.find` reads whole true texts once and returns named arrays; `question.write_under`
lets members write under interventions. Sites are those of `model.inspection`.
"""
