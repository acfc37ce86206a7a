"""Virtual gradient probes of trained encoders: heat, drift, damping, and what norms go with.

The room is not called `probe` because `radii.probe` is a function, and a package of that name would take its
place; see auditing.py for the same.
"""
