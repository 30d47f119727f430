"""A reader of generated code: does the text say what the loop program says?"""
