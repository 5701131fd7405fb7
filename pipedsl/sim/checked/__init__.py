"""The checked mode: operations complete as late as the ISA allows, and early use is reported."""
