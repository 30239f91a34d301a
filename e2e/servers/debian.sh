# Programs of another Debian release than the machine's, without installing them:
# the packages are fetched and verified by apt with a state of its own, unpacked
# into one folder, and started through that folder's loader and libraries.
# Sourced by server scripts, behind lib.sh.

# unpack_debian FOLDER RELEASE PACKAGE... [-- PACKAGE...]: unpacks them with all that
# they depend on, those behind -- without, below FOLDER, whose
# usr/lib/x86_64-linux-gnu holds the loader.
unpack_debian() {
  local folder=$1 release=$2 apt=$1/apt mirror key=/usr/share/keyrings/debian-archive-keyring.gpg deb d packages=()
  shift 2
  while [ $# -gt 0 ] && [ "$1" != -- ]; do packages+=("$1"); shift; done
  [ $# = 0 ] || shift
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v -e security -e updates -e backports | head -n 1)
  [ -n "$mirror" ] || die "apt has no package source whose mirror could be used"
  [ "$(dpkg --print-architecture)" = amd64 ] || die "only amd64 is supported"
  mkdir -p "$apt"/{lists/partial,cache/archives/partial}
  # Perl is left out, by saying that it is there: it only serves scripts.
  printf '%s\n' 'Package: perl' 'Status: install ok installed' 'Architecture: amd64' 'Multi-Arch: allowed' 'Version: 99' >"$apt/status"
  [ ! -e "$key" ] || mirror="[signed-by=$key] $mirror"
  echo "deb $mirror $release main" >"$apt/sources.list"
  # A mirror that is some days behind is good enough: its signatures are checked all the same.
  cat >"$apt/apt.conf" <<-END
	Dir::State "$apt";
	Dir::State::lists "$apt/lists";
	Dir::State::status "$apt/status";
	Dir::Cache "$apt/cache";
	Dir::Etc::sourcelist "$apt/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	APT::Sandbox::User "root";
	APT::Architecture "amd64";
	APT::Architectures "amd64";
	Acquire::Languages "none";
	Acquire::Check-Valid-Until "false";
	END
  { APT_CONFIG=$apt/apt.conf apt-get update -qq &&
    APT_CONFIG=$apt/apt.conf apt-get install -qq -y --no-install-recommends --download-only "${packages[@]}" &&
    if [ $# -gt 0 ]; then (cd "$apt/cache/archives" && APT_CONFIG=$apt/apt.conf apt-get download -qq "$@"); fi; } >"$folder/apt.log" 2>&1 ||
    { tail -n 20 "$folder/apt.log" >&2; die "apt-get can't fetch ${packages[*]} $* of $release"; }
  mkdir -p "$folder"/usr/{bin,sbin,lib,lib64}
  for d in bin sbin lib lib64; do ln -s "usr/$d" "$folder/$d"; done # older releases have both
  for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder" --no-same-owner --keep-directory-symlink \
      --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale --exclude='*/gconv'
  done
  rm -rf "$apt"
}

# own_loader FOLDER PROGRAM: sets COMMAND to what starts a program below FOLDER.
own_loader() {
  local lib=$1/usr/lib/x86_64-linux-gnu
  COMMAND=("$lib/ld-linux-x86-64.so.2" --library-path "$lib:$lib/systemd" "$1/usr/$2")
}

# program_scripts FOLDER: prints a folder of scripts, one for each program below
# FOLDER/usr/bin, which start it through its own loader. MariaDB's client library
# looks for plugins (caching_sha2_password) where the packages would have been installed.
program_scripts() {
  local program name
  if [ ! -d "$1/programs" ]; then
    mkdir -p "$1/programs.$$"
    for program in "$1"/usr/bin/*; do
      name=$(basename "$program")
      own_loader "$1" "bin/$name"
      { echo '#!/bin/sh'; printf 'MARIADB_PLUGIN_DIR="%s/libmariadb3/plugin" exec' "$1/usr/lib/x86_64-linux-gnu"; printf ' "%s"' "${COMMAND[@]}"; echo ' "$@"'; } >"$1/programs.$$/$name"
      chmod 755 "$1/programs.$$/$name"
    done
    mv -T "$1/programs.$$" "$1/programs" 2>/dev/null || rm -rf "$1/programs.$$" # another was faster
  fi
  echo "$1/programs"
}
