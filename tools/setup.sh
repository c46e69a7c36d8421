#!/usr/bin/env bash
# Installs by package name what building and testing need and what is missing here; says what it does.
# Works as root and with sudo. On a machine that has everything it changes nothing.
set -euo pipefail

# package -> what shows that it is there: a command, or a file below an include or library folder
needs=(
  "g++=cmd:g++" "cmake=cmd:cmake" "ninja-build=cmd:ninja" "make=cmd:make" "binutils=cmd:readelf" "ccache=cmd:ccache"
  "clang-format-14=cmd:clang-format-14" "patchelf=cmd:patchelf"
  "libtomlplusplus-dev=inc:toml++/toml.h" "libcli11-dev=inc:CLI/CLI.hpp" "nlohmann-json3-dev=inc:nlohmann/json.hpp"
  "libgtest-dev=inc:gtest/gtest.h" "libgmock-dev=inc:gmock/gmock.h" "libbenchmark-dev=inc:benchmark/benchmark.h"
  "libdnnl-dev=inc:oneapi/dnnl/dnnl.h" "libopenblas-dev=lib:libopenblas.so" "liblapacke-dev=lib:liblapacke.so"
  "python3=cmd:python3" "python3-venv=py:ensurepip"
)

found() {
  case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null ;;
    inc:*) [ -e "/usr/include/${1#inc:}" ] || compgen -G "/usr/include/*/${1#inc:}" >/dev/null ;;
    lib:*) compgen -G "/usr/lib/*/${1#lib:}" >/dev/null || [ -e "/usr/lib/${1#lib:}" ] ;;
    py:*) [ -e "/usr/share/doc/python3-venv" ] || python3 -c "import ${1#py:}" 2>/dev/null ;;
  esac
}

missing=()
for need in "${needs[@]}"; do
  found "${need#*=}" || missing+=("${need%%=*}")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

echo "setup: missing here: ${missing[*]}" >&2
if ! command -v apt-get >/dev/null; then
  echo "setup: no apt-get on this system; install these by hand and run again" >&2
  exit 3
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: installing needs root or sudo" >&2
    exit 3
  fi
  as_root=(sudo)
fi
echo "setup: apt-get update, then apt-get install ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
for need in "${needs[@]}"; do
  found "${need#*=}" || { echo "setup: ${need%%=*} is still not usable after its installation" >&2; exit 3; }
done
echo "setup: done" >&2
