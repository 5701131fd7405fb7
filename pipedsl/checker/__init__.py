"""Races, protocol errors and deadlocks, found in events; knows no simulator."""
