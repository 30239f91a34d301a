package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// StandbySlot is the physical slot by which a standby follows its primary. The
// primary keeps what the standby has not read.
const StandbySlot = "pgtest_standby"

// StartStandby copies the running server s and starts the copy as its standby,
// in a folder of its own that Stop removes. o.Dir, o.Bin and o.User are not looked
// at. The servers need no program but their own, which not every build ships.
func StartStandby(ctx context.Context, s *Server, o Options) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "pgtest-standby-")
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	o.Dir, o.Bin, o.User = dir, s.opts.Bin, s.opts.User
	standby := &Server{opts: o, temporary: true}
	defer func() {
		if err != nil {
			standby.remove()
		}
	}()
	if err := s.backup(ctx, standby.data()); err != nil {
		return nil, err
	}
	if err := standby.handOver(); err != nil {
		return nil, err
	}
	settings := map[string]string{
		"primary_conninfo":  fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=postgres application_name=standby", s.opts.Port, s.opts.User),
		"primary_slot_name": StandbySlot, "hot_standby_feedback": "on",
	}
	maps.Copy(settings, o.Settings)
	standby.opts.Settings = settings
	if standby.opts.Port == 0 {
		if standby.opts.Port, err = freePort(); err != nil {
			return nil, err
		}
	}
	return standby, standby.Restart(ctx)
}

// backup copies the data of a running server, as pg_basebackup does.
func (s *Server) backup(ctx context.Context, to string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer conn.Close(ctx)
	begin, end := "pg_backup_start('pgtest', true)", "pg_backup_stop(false)"
	if version(s.opts.Bin) < 15 {
		begin, end = "pg_start_backup('pgtest', true, false)", "pg_stop_backup(false, false)"
	}
	if _, err := conn.Exec(ctx, "SELECT pg_create_physical_replication_slot($1, true)", StandbySlot); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if _, err := conn.Exec(ctx, "SELECT "+begin); err != nil {
		return fmt.Errorf("pgtest: begin the backup: %w", err)
	}
	if err := copyData(to, s.data()); err != nil {
		return fmt.Errorf("pgtest: copy the server: %w", err)
	}
	var label string
	if err := conn.QueryRow(ctx, "SELECT labelfile FROM "+end).Scan(&label); err != nil {
		return fmt.Errorf("pgtest: end the backup: %w", err)
	}
	for name, text := range map[string]string{"backup_label": label, "standby.signal": ""} {
		if err := give(os.WriteFile(filepath.Join(to, name), []byte(text), 0o600), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	return os.WriteFile(filepath.Join(filepath.Dir(to), "initialised"), nil, 0o600)
}

// copyData copies a data folder without what belongs to the running server: its
// log, its slots, its locks. Files may vanish meanwhile.
func copyData(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && strings.HasPrefix(rel, "pg_replslot/"):
			return fs.SkipDir
		case d.IsDir():
			return give(os.MkdirAll(target, 0o700), target)
		case rel == "postmaster.pid" || rel == "postmaster.opts" || d.Type()&fs.ModeType != 0,
			strings.HasPrefix(rel, "pg_wal/"), strings.HasPrefix(rel, "pg_replslot/"), strings.HasPrefix(rel, "pg_stat_tmp/"):
			return nil
		}
		if err = copyFile(target, path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return give(err, target)
	})
}

// give hands a file to the server's user, unless err says that it isn't there.
func give(err error, path string) error {
	uid, gid, other := account()
	if err != nil || !other {
		return err
	}
	return os.Chown(path, uid, gid)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Promote makes a standby a primary and waits until it is one.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer conn.Close(ctx)
	var done bool
	if err := conn.QueryRow(ctx, "SELECT pg_promote(true, 60)").Scan(&done); err != nil || !done {
		return fmt.Errorf("pgtest: promote: %t, %w", done, err)
	}
	return nil
}
