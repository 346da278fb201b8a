#!/bin/sh
# Install one extra of Private LLM into /opt/private-llm: `sh requirements/install.sh operator`. The Dockerfile runs it
# after /opt/build (with pip) and /opt/wheel (with our wheel) were made. Nothing is resolved and nothing is compiled:
# the requirement file names every distribution by its hash.
set -eu
extra=$1
target=/opt/private-llm
pip() { /opt/build/bin/pip --python "$target/bin/python" install --no-compile "$@"; }

# No pip in it: whoever gets into a pod should not find an installer.
python -m venv --without-pip "$target"
pip --require-hashes --only-binary=:all: -r "requirements/$extra.txt"
pip --no-index --no-deps /opt/wheel/*.whl
# A read-only root cannot keep byte code later. Sets of constants keep one order when hashes do.
PYTHONHASHSEED=0 "$target/bin/python" requirements/compile.py "$target/lib"
