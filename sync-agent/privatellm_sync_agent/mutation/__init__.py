"""Changes to content on its way: paths into it, and the rules that delete, replace and compute."""
