"""Typed expressions as C.

What is asked here: the text of an expression, its type, how strongly it binds, and in how many
bits it has to be computed.  It rests on `languages`.  Start with `typed_terms` and `common_rules`;
an operator is a rule in `arithmetic_rules` or `logic_rules`, a function one in `call_rules`.
"""
