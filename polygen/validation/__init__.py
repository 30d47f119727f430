"""Validation: proves that a loop program computes what its kernel says.

Start with `validate`, which calls a check a line: `statements`, `instances`, `sequence` (one work
item), `uniform` and `exchange` (several: barriers), `shuffles`, `storage`, `copies`, `heads`,
`promises`.  They look at both sides by `view`, `works` and `frames`; `terms` and `same_integers`
compare expressions.

It uses the analysis and the form of loop programs, and nothing else of `polygen.lower`: what both
decide, such as where barriers have to be, is written twice on purpose.
"""
