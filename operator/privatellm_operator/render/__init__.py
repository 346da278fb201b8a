"""Pure builders of the objects that the operator owns, one kind a file."""
