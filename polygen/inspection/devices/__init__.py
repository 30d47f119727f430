"""What a device can do, and how near a kernel comes to it: limits, profiles, rooflines.

It rests on `counts`.  Start with `limits` and `roofline`; `profile` measures.
"""
