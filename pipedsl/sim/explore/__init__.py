"""Interleavings of one workgroup, chosen one synchronisation operation at a time."""
