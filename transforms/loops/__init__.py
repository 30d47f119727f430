"""Transformations that visit the instances of a loop nest in another order.

All of them are maps of iteration domains: start with `map_domain`, of which `shift`, `skew` and
`reverse` are special cases; `wavefront` combines two.  `loop_extents`, `memory_order` and
`size_estimates` help to choose among orders.
"""
