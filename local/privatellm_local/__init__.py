"""The embedded environment: a real control plane, edge and node on one Linux machine.

Everything runs as ordinary processes of an ordinary user and listens on ``127.0.0.0/8`` only. The
package starts our operator and authserver as commands and imports nothing of them.
"""
