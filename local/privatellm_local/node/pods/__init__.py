"""One worker per pod: a pure decision, the act that follows it, and the report to the API server."""
