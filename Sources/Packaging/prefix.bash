# The prefix and the list of installed files, for Sources/Packaging/install and uninstall.
# shellcheck shell=bash

prefix=${PREFIX:-/usr/local}
[[ $prefix = /* ]] || { echo "PREFIX must be an absolute path, and is \"$prefix\"" >&2; exit 2; }
prefix=${DESTDIR-}$prefix
while [[ $prefix = *?/ ]]; do prefix=${prefix%/}; done
# DESTDIR may be relative.
[[ $prefix = /* ]] || prefix=$PWD/$prefix
list=$prefix/lib/tabella/installed

# listed KIND: prints the paths of a kind, `file` or `folder`.
listed() { sed -n "s/^$1 //p" "$list"; }

prefix_digest() { printf %s "$prefix" | cksum | cut -d' ' -f1; }

# Prints the number of folders above the prefix that were made for it: 0 if the prefix was moved.
folders_above() {
  local count digest
  read -r count digest < <(listed above) || true
  [ "${digest-}" = "$(prefix_digest)" ] && echo "$count" || echo 0
}

# remove_file PATH, a path below the prefix.
remove_file() {
  case /$1/ in */../*) echo "the list of installed files is damaged: $1" >&2; exit 1 ;; esac
  rm -f -- "$prefix/$1"
}

# remove_folder PATH: removes an empty folder.
remove_folder() { rmdir -- "$1" 2> /dev/null || true; }
