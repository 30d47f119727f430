"""Work units as functions of loops that the front end compiles."""
