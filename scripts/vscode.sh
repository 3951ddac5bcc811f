#!/bin/sh
# Builds the extension of Visual Studio Code, tools/vscode/accord.vsix, and runs its tests.
#
# usage: scripts/vscode.sh [--test]
#   --test  only run the tests, with build/bin/accord-lsp
# Node.js 20 and npm are needed; npm brings the packages that package.json names into tools/vscode/node_modules, once.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
case "${1:-}" in
"" | --test) ;;
*)
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  [ "$1" = --help ] && exit 0
  exit 1
  ;;
esac
PATH="$root/build/bin:$PATH"
export PATH
cd tools/vscode
[ -d node_modules ] || npm install --no-audit --no-fund --no-package-lock
npm test
[ "${1:-}" = --test ] && exit 0
npm run bundle
cp "$root/LICENSE" LICENSE
npm run package
rm LICENSE
echo "tools/vscode/accord.vsix: install it with code --install-extension"
