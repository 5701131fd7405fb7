import pipedsl

pipedsl.config.step_budget = -1
# --- fixed ---
import pipedsl

with pipedsl.config.scope(step_budget=1_000_000):
    pass
