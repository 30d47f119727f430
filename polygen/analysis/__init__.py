"""What is true of a kernel."""
