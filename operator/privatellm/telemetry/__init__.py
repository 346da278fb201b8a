"""Logs and traces: configured once at start-up, used through structlog and OpenTelemetry's API."""
