"""What a kernel is.  Nothing here knows of text to parse, of targets or of devices."""
