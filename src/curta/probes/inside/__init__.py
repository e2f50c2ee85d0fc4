"""Activations by name, and interventions on them: what probes of mechanisms are made of.

`activations.find` goes through whole true texts once and hands back named arrays; `writing.written`
lets members write under interventions. Sites are those of `model.inspection`.
"""
