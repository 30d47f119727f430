"""Statements as lines of C: assignments, loops, guards, atomic updates.

It rests on `expressions` and `lanes`, both of which `expression_printer` puts together in one table
of rules.  Start with `statement_rules`, a rule for each kind of statement; `threads`,
`thread_teams` and `simd` are about loops that C runs in parallel.
"""
