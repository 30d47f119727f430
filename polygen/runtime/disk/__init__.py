"""Files that outlive a process: compiled programs, and folders for them.

What is asked here: what was compiled before from the same text, and whether a file may be trusted.
It rests on nothing else of the runtime.  Start with `cache`; `folders` says where files lie and who
may write there.
"""
