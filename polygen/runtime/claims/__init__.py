"""What a kernel takes for granted of data, checked for the data of a call.

What is asked here: whether subscripts that data gives are inside of arrays, and instances that
touch one element are those that the kernel allows.  It rests on `arrays`.  Start with
`assumptions`; where ends of loops do not suffice, `instance_tables` looks at all instances.
"""
