"""Limits of devices, and how near a kernel comes to them: profiles, rooflines.

It rests on `counts`.  Start with `limits` and `roofline`; `profile` measures.
"""
