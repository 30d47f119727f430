"""Integer expressions, as linear forms and as isl's sets.

What is asked here: the normal form of a subscript or a condition, what is known of sizes, products,
quotients and remainders that are not affine, and how to go to isl and back.  It rests on ir alone.
Start with `affine_forms`, then `isl_affine`; `known_facts` says what may be assumed of parameters.
"""
