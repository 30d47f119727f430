"""Whole-kernel schedules: steps for a kernel that has none, each proved, and why it was taken.

`optimize` takes the steps, `propose` returns them, `explain` says why.  `schedule` runs the stages
of a target, which `processors` and `grids` list; a stage looks at the nests of the kernel and takes
ordinary steps, which the `Plan` records, or notes why it does not.  All rests on `tuning`, where
reductions and products are.  Start reading with `schedule`.
"""
