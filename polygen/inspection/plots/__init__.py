"""Pictures of iteration domains.

What a picture shows (`shown_instances`, `arrows`) is decided before it is drawn (`drawing`, the one
file that needs matplotlib).  Start with `plot_domain`.
"""
