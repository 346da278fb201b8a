"""Measure a private LLM from outside: time to the first token, tokens a second, latencies.

``measuring`` asks, ``statistics`` counts, ``report`` shows. What is measured is what a customer gets
through the edge, not what a server could do. Runs are bounded in requests, in tokens and in time.
"""
