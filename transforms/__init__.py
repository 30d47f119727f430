"""The library of transformations: one public transformation a file."""

if not __name__.startswith("polygen."):
    raise ImportError(
        "this folder is the package polygen.transforms: import it under that name, "
        "or there are two copies of everything in it"
    )
