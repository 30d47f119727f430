"""The functions that traced programs may call: what each is, in values of the tracer.

A file has the functions of one subject, as rows: the function itself, and what the tracer makes of
a call.  `basic_table` joins those that the others build on (`statistics`, `joining`, `reshaping`,
`products`); `table` joins all.  To add a function, write its row into the file of its subject.
"""
