"""The parts of a kernel.  Nothing here knows of text to parse, of targets or of devices."""
