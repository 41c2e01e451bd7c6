#!/usr/bin/env bash
# usage: with_python.sh MODULES SCRIPT [ARG...]
# Runs SCRIPT with a Python that has every module of the comma separated list, and skips it (exit 77, saying what is
# missing) when there is none. Tried in order: $SPINDRIFT_PYTHON, .venv, .venv-oracles when SPINDRIFT_ORACLES is 1
# (./dev test --oracles sets it), python3.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
modules=$1
shift
candidates=("${SPINDRIFT_PYTHON:-}" "$root/.venv/bin/python")
[[ ${SPINDRIFT_ORACLES:-} == 1 ]] && candidates+=("$root/.venv-oracles/bin/python")
for python in "${candidates[@]}" python3; do
  if [[ -n $python ]] && "$python" -c "import ${modules:-sys}" 2>/dev/null; then
    exec "$python" "$@"
  fi
done
echo "SKIPPED FOR LACK OF PACKAGES: no Python here has all of: $modules (./dev setup installs the light ones into" \
  ".venv, ./dev test --oracles the heavy ones into .venv-oracles)"
exit 77
