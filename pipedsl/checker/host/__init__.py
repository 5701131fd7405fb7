"""How the detector is compiled for the host: all that uses the insides of Numba here."""
