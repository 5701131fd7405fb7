from pipedsl import gpu

print(gpu.lane_id())
# --- fixed ---
from pipedsl import gpu

print(gpu.wave_size())  # the only function of gpu that the host may call
