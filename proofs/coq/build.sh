#!/bin/sh
# usage: build.sh DIRECTORY    compiles the theory into DIRECTORY (apt-get install coq libcoq-bignums); nothing is written here
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cp "$here"/*.v "$1"
cd "$1"
grep '\.v$' "$here/_CoqProject" | while read -r file; do
    coqc -q -Q . Interp "$file"
done
