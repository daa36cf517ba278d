#!/bin/bash
# Makes the ordinary account that half of the tests run as. As root. Usage: tools/make-user.sh [NAME]
set -euo pipefail

name=${1:-hotcell-test}
if ! getent passwd "$name" >/dev/null; then
	echo "make-user: making the account '$name' for the tests ('userdel -r $name' removes it)"
	/usr/sbin/useradd --create-home --user-group --shell /bin/sh --comment "tests of hotcell" "$name"
fi
