"""From text to something that can be called: devices, compilers, caches, arguments."""
