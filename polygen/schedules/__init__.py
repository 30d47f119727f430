"""Whole-kernel schedules: `polygen.optimize` takes the steps, `propose` returns them, `explain`
says why.

Ask here for steps for a kernel that has none.  `schedule` runs the stages of a target, which
`processors` and `grids` list; a stage looks at the nests of the kernel and takes ordinary steps,
which the `Plan` records, or notes why it does not.  It rests on `tuning`, where reductions and
products are.  Start reading with `schedule`.
"""
