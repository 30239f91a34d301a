package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// Discover returns the captured tables, ordered by database and name.
func (s *Source) Discover(ctx context.Context) ([]source.Table, error) {
	conn, err := s.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	srv, err := readServer(ctx, conn)
	if err != nil {
		return nil, err
	}
	now, err := s.cfg.loadCatalogue(ctx, conn, srv)
	if err != nil {
		return nil, err
	}
	if err := now.estimate(ctx, conn); err != nil {
		return nil, err
	}
	found, err := cascades(ctx, conn, srv, now.ids())
	if err != nil {
		return nil, err
	}
	byTable := map[schema.TableID][]string{}
	for _, f := range found {
		byTable[f.child] = append(byTable[f.child], f.String())
	}
	catalog := ddl.NewCatalog(s.cfg.catalogOptions(srv), now.Databases, now.Definitions)
	out := make([]source.Table, len(now.Captured))
	for i, t := range now.Captured {
		d, ok := catalog.Definition(t.ID)
		if !ok {
			return nil, fmt.Errorf("table %s vanished while it was looked at", t.ID)
		}
		def, err := d.Table()
		if err != nil {
			return nil, withHint(err, "leave the table out with tables.exclude")
		}
		out[i] = source.Table{Schema: def, Rows: t.Rows, Bytes: t.Bytes, Chunks: t.chunks(s.cfg.chunkSize), Notes: append(t.notes(d, srv), byTable[t.ID]...)}
	}
	return out, nil
}

// catalogOptions are what a catalogue of definitions has to know.
func (c *config) catalogOptions(s server) ddl.Options {
	lower, _ := strconv.Atoi(s.vars["lower_case_table_names"])
	return ddl.Options{MariaDB: s.mariadb(), Version: s.version.Major*10000 + s.version.Minor*100 + s.version.Patch, LowerCaseTableNames: lower,
		ServerCollation: s.vars["collation_server"], CharsetCollations: s.vars["character_set_collations"], OmitsUnchanged: s.partialImages(), Value: c.valueOptions(s)}
}

// valueOptions are those of the pipeline, for the server.
func (c *config) valueOptions(s server) value.Options {
	v := c.values
	v.MariaDB = s.mariadb()
	return v
}

// partialImages says that the binlog leaves out columns that did not change.
func (s server) partialImages() bool {
	image := strings.ToUpper(s.vars["binlog_row_image"])
	return image == "MINIMAL" || image == "NOBLOB" || image == "FULL_NODUP"
}

// chunks estimates the number of snapshot chunks of size rows.
func (t *tableInfo) chunks(size int) int {
	return max(1, int((t.Rows+int64(size)-1)/int64(size)))
}

// notes are limits of the table, for people.
func (t *tableInfo) notes(d *ddl.Definition, s server) []string {
	var out []string
	if def, err := d.Table(); err == nil && !def.HasKey() {
		out = append(out, "no primary key and no unique key of NOT NULL columns: written as a changelog; its snapshot starts again after a crash")
	}
	if !t.transactional() {
		out = append(out, "engine "+t.Engine+" has no transactions: a row that changes while its chunk is read may come as read with the change, and as the change")
	}
	if t.Versioned {
		out = append(out, "system-versioned: the present rows are captured, not the history that the server keeps")
	}
	if note := unloggedNote(d); note != "" {
		out = append(out, note)
	}
	if s.partialImages() {
		out = append(out, "binlog_row_image is "+s.vars["binlog_row_image"]+": updates leave out what they did not change; for whole rows: SET GLOBAL binlog_row_image = 'FULL'")
	}
	return out
}
