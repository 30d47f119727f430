"""Whether two kernels that no step links compute the same: see `prove`."""
