"""Stands for a driver's actions; the example is only read, and not run."""
