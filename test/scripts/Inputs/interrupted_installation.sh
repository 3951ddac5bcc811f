#!/usr/bin/env bash
# interrupted_installation.sh SCRIPTS FOLDER: what the set-up does on a machine where an earlier installation was
# interrupted. A dpkg of our own stands in for the machine's: it reports a fault until it has been told to configure.
set -euo pipefail
root=$2/root
logs=$root/build/logs
mkdir -p "$logs"
mkdir -p "$2/bin"
cat >"$2/bin/dpkg" <<END
#!/bin/sh
case "\$1" in
--audit) [ -e "$2/configured" ] || echo "The following packages have been unpacked but not yet configured." ;;
--configure) echo "configured \$2" >"$2/configured" ;;
*) exit 2 ;;
esac
END
chmod +x "$2/bin/dpkg"
PATH=$2/bin:$PATH
# shellcheck source=/dev/null
. "$1/common.sh"
# shellcheck source=/dev/null
. "$1/packages.sh"
as_root() { "$@"; }
finish_interrupted_installation
echo "then: $(cat "$2/configured")"
finish_interrupted_installation
echo "the second time there is nothing to do"
