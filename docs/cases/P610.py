from pipedsl import sim

sim.load_assembly("""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
kernel:
    v_add_f32 v0, v1
    s_endpgm
""")
# --- fixed ---
from pipedsl import sim

sim.load_assembly("""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
kernel:
    v_add_f32 v0, v1, v2
    s_endpgm
""")
