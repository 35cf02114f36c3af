"""Untrusted. Colours that colour-blind readers tell apart.

Source: M. Okabe and K. Ito, Color universal design, 2008; without black and yellow, which vanish on dark or white.
"""

from __future__ import annotations

BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GREY = "#7F7F7F"
PALETTE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, GREY)
