"""Activations by name, and interventions on them: what probes of mechanisms are made of.

`activations.find` reads whole true texts once and returns named arrays; `question.write_under` lets
members write under interventions. Sites are those of `model.inspection`.
"""
