"""Pictures: what is drawn is what the kernel computes, and pages show text as text."""
