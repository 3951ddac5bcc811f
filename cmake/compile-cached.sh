#!/bin/sh
# Compiles through ccache such that checkouts in different folders share what was compiled: AccordPackages.cmake puts this before the compiler.
#
# usage: compile-cached.sh SOURCE_DIR BUILD_DIR CCACHE COMPILER ARGUMENT...
#
# CCACHE_BASEDIR makes paths inside SOURCE_DIR relative; those behind -Xclang, which name the precompiled header, are made so here.
# A precompiled header knows where its headers lie, so each build folder compiles its own. To ccache it is known by the command alone (the file
# *.sum beside it): with CCACHE_DEPEND the headers that it was made of are compared one by one, as those of any source.
# CCACHE_DEPEND has another reason too. Without it ccache also compares preprocessed text, which has no comments: after a change of a comment
# it would give an object for the precompiled header of before, which clang refuses since a header "has been modified".
source=$1 build=$2 ccache=$3
shift 3
left=$# output='' header=''
while [ "$left" -gt 0 ]; do
  left=$((left - 1))
  argument=${1#"$build/"}
  [ "$output" = next ] && output=$argument
  case $argument in
    -o) output=next ;;
    -emit-pch) header=yes ;;
  esac
  shift
  set -- "$@" "$argument"
done
if [ -n "$header" ]; then
  printf '%s\n' "$@" | sed "s|$source|SOURCE|g" >"$output.sum"
  exec "$@"
fi
CCACHE_BASEDIR=$source CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_BASEDIR CCACHE_DEPEND CCACHE_PCH_EXTSUM CCACHE_SLOPPINESS
exec "$ccache" "$@"
