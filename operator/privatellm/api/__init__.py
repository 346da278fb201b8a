"""Our API types: frozen Pydantic models from which CRDs, reference and forms are generated."""
