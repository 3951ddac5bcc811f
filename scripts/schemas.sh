#!/usr/bin/env bash
# The schemas of the JSON documents, and the page of their keys.
#   scripts/schemas.sh           writes docs/schema/*.schema.json and docs/schema/README.md anew
#   scripts/schemas.sh --check   fails if they are not what `accord schema` and this script write
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
accord=${ACCORD:-$root/build/bin/accord}
case ${1:-} in
--check | '') ;;
*) sed -n '2,4s/^# //p' "$0" && exit ;;
esac
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$accord" schema | grep -o '^[a-z_]\+' | while read -r name; do
  "$accord" schema "$name" >"$made/$name.schema.json"
done
python3 "$root/scripts/schema_page.py" "$made"/*.schema.json >"$made/README.md"
if [ "${1:-}" != --check ]; then
  cp "$made"/* "$root/docs/schema"
elif ! diff -ru "$root/docs/schema" "$made" >&2; then
  echo "docs/schema is not what the program describes: run scripts/schemas.sh" >&2
  exit 1
fi
