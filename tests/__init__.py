"""The tests of Curta, in folders named as those of the package."""

UNOPTIMISED = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""Flags for XLA: nearly all of the time went to it, on thousands of programs that run once. It
compiles them seven times as fast where it does not optimise."""
