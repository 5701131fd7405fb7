"""Respelling gfx1100 instructions for the other targets."""

from __future__ import annotations

import re

_GFX12 = (
    (r"s_waitcnt_vmcnt null, ", "s_wait_loadcnt "),
    (r"s_waitcnt_lgkmcnt null, ", "s_wait_dscnt "),
    (r"s_waitcnt .*", "s_wait_idle"),
    (r"s_gl1_inv", "s_dcache_inv"),
    (r"(v_(pk_)?(min|max|med)3?)_(f16|f32|f64)", r"\1_num_\4"),
    (r"v_(minmax|maxmin)_(f16|f32)", r"v_\1_num_\2"),
)  # fmt: skip
_GFX9 = (
    (r"s_denorm_mode (\w+)", r"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), \1"),
    (r"s_waitcnt_\w+ null, .*", "s_waitcnt 0"),
    (r"s_wait_idle", "s_waitcnt 0"),
    (r"(v_(?:cmp|cndmask|div_scale|\w+_co_)\w* .*)vcc_lo", r"\1vcc"),
    (r"(v_(?:cmp|cndmask|div_scale|\w+_co_)\w* .*)vcc_lo", r"\1vcc"),
    (r"s_cbranch_vcc(n?)z", r"s_cbranch_vcc\1z"),
)
_RULES = {"gfx1201": _GFX12, "gfx942": _GFX9}

# What has no counterpart: matrix layouts and barriers differ; gfx9 has 64-bit masks, writes VCC
# in v_cmpx, zeroes the upper half of 16-bit results, and has no dual issue.
_WITHOUT = {
    "gfx1201": re.compile(r"v_wmma|s_barrier|v_interp"),
    "gfx942": re.compile(
        r"v_wmma|s_barrier|v_interp|::|v_cmpx|v_cmp\w+ s\d|v_\w+16(_e\d\d)? |_f16_|v_cvt_f16|\.[hl]\b"
        r"|flat_|global_|scratch_|s_load|s_gl1|s_dcache|v_permlane|v_cndmask\w+ .*, s\d+$|, null"
        r"|_co_ci_\w+ .*, s\d+$|v_div_scale\w+ \S+, s\d+"
    ),
}


def convertible(text: list[str], arch: str) -> bool:
    """Whether a gfx1100 program means the same on `arch` when it is respelled."""
    return not any(_WITHOUT[arch].search(line) for line in text)


def respell(line: str, arch: str) -> str:
    """A gfx1100 instruction as `arch` spells it."""
    for pattern, text in _RULES[arch]:
        line = re.sub(pattern, text, line)
    return line
