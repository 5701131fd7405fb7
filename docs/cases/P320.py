import pipedsl

pipedsl.use_device("sim:gfx906")
# --- fixed ---
import pipedsl

with pipedsl.use_device("sim:gfx90a"):
    pass
