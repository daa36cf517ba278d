#!/bin/bash
# Makes the ordinary account that half of the tests run as, with subordinate numbers. As root.
# Usage: tools/make-user.sh [NAME]
set -euo pipefail

name=${1:-hotcell-test}
if ! getent passwd "$name" >/dev/null; then
	echo "make-user: making the account '$name' for the tests ('userdel -r $name' removes it)"
	/usr/sbin/useradd --create-home --user-group --shell /bin/sh --comment "tests of hotcell" "$name"
fi

# Its cells are users of their own. Behind all numbers that were given before.
if ! grep -q "^$name:" /etc/subuid 2>/dev/null; then
	touch /etc/subuid
	first=$(awk -F: 'BEGIN { n = 100000 } $2 + $3 > n { n = $2 + $3 } END { print n }' /etc/subuid)
	echo "make-user: giving '$name' the subordinate users from $first on"
	/usr/sbin/usermod --add-subuids "$first-$((first + 65535))" "$name"
fi
