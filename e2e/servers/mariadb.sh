# What the scripts of all MariaDB versions share: they set VERSION, RELEASE (of
# Debian), SERIES (of MariaDB) and SCRIPTS (the prefix of its bootstrap scripts and
# their folder below usr/share), then source this file.

. "$(dirname "${BASH_SOURCE[0]}")/mysql.sh"

FLAVOR_SETTINGS=(gtid-domain-id=0 gtid-strict-mode=ON innodb-log-file-size=32M)

unpack_mariadb() {
  note "installing MariaDB $SERIES"
  # The last two hold plugins (auth_ed25519) and mariadb-binlog.
  unpack_debian "$1" "$RELEASE" mariadb-server-core mariadb-client-core -- mariadb-server mariadb-client
  own_loader "$1" sbin/mariadbd
  "${COMMAND[@]}" --version | grep -q "Ver $SERIES\." || die "Debian's $RELEASE has $("${COMMAND[@]}" --version), not MariaDB $SERIES"
}

install_server() { once "$CACHE/$VERSION" "$SERIES with plugins" unpack_mariadb; }

server_program() {
  local usr=$CACHE/$VERSION/usr
  own_loader "$CACHE/$VERSION" sbin/mariadbd
  COMMAND+=(--no-defaults --basedir="$usr" --lc-messages-dir="$usr/share/$SCRIPTS" --character-sets-dir="$usr/share/$SCRIPTS/charsets" --plugin-dir="$usr/lib/mysql/plugin")
}

# initialize does what mariadb-install-db does, whose paths are fixed to /usr.
initialize() {
  local n scripts=$CACHE/$VERSION/usr/share/$SCRIPTS
  {
    printf '%s\n' 'create database if not exists mysql;' 'use mysql;' 'SET @auth_root_socket=NULL;' 'SET @skip_auth_anonymous=1;'
    for n in "${SCRIPTS}_system_tables" "${SCRIPTS}_performance_tables" "${SCRIPTS}_system_tables_data" fill_help_tables maria_add_gis_sp_bootstrap "${SCRIPTS}_sys_schema"; do
      cat "$scripts/$n.sql"
    done
    # Accounts of this very machine, without a password, would come before root@'%'.
    echo "DELETE FROM mysql.global_priv WHERE user = 'root' AND host <> 'localhost';"
    echo 'FLUSH PRIVILEGES;'
    cat "$DIR/init.sql"
  } | unprivileged "${COMMAND[@]}" --bootstrap --skip-log-bin --max-allowed-packet=8M --net-buffer-length=16K --enforce-storage-engine=
}

server_bin() { install_server; program_scripts "$CACHE/$VERSION"; }
