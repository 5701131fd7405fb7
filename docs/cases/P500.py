import pipedsl

pipedsl.use_device("hip:99")
# --- fixed ---
import pipedsl

with pipedsl.use_device("auto"):  # the first supported GPU, else the simulator
    pass
