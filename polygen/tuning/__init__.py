"""Choosing steps: by a model of the device, or by measuring."""
