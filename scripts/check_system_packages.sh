#!/bin/sh
# Checks for the few system packages a build needs; everything else comes from pip into .venv.
# Missing ones are installed where we are root on Debian or Ubuntu; elsewhere the command to run is printed.
# usage: check_system_packages.sh <python>
set -eu
python=$1
missing=""

command -v g++ >/dev/null || missing="$missing g++"
if ! command -v "$python" >/dev/null; then
	missing="$missing python3 python3-venv"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo "$python is $("$python" --version), but DuckDB 2.0 needs Python 3.11 or newer." >&2
	echo "Name another one: make PYTHON=python3.12" >&2
	exit 1
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
	missing="$missing $("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')"
fi
[ -n "$missing" ] || exit 0

install="apt-get install --yes --no-install-recommends$missing"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing:$missing"
	apt-get update --quiet=2
	DEBIAN_FRONTEND=noninteractive $install
else
	echo "System packages are missing. On Debian or Ubuntu run:" >&2
	echo "  sudo $install" >&2
	exit 1
fi
