package ddl

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// checkTableMaps inserts a row into every table and matches what the log says of
// the tables with the catalogue, and SHOW CREATE TABLE too.
func (c *serverCase) checkTableMaps(server *mysqltest.Server) (checked int) {
	c.t.Helper()
	c.events()
	file, pos := c.file, c.pos
	inserted := 0
	for _, name := range c.databases {
		for _, d := range c.c.Tables(name) {
			if made := c.defined(d.ID); c.own(&made) != c.server(d.ID) {
				c.fail("what SHOW CREATE TABLE says is read as\n%s\nthe server has\n%s", c.own(&made), c.server(d.ID))
			}
			result, err := c.s.Conn.Execute("INSERT IGNORE INTO `" + name + "`.`" + d.ID.Table + "` () VALUES ()")
			if err != nil {
				continue // a geometry that is NOT NULL, for instance, takes nothing
			}
			if result.AffectedRows > 0 {
				inserted++
			}
			result.Close()
		}
	}
	maps := c.tableMaps(server, file, pos)
	for id, m := range maps {
		d, ok := c.c.Definition(id)
		if !ok {
			c.fail("the log has rows of table %s, the catalogue does not know it", id)
		}
		c.match(d, m)
	}
	if len(maps) < inserted {
		c.fail("rows went into %d tables, the log shows %d", inserted, len(maps))
	}
	c.events()
	return len(maps)
}

// match checks a definition against the log, and one that is made from the log.
func (c *serverCase) match(d *Definition, m TableMap) {
	c.t.Helper()
	minimal := m
	minimal.Names, minimal.Labels, minimal.Visible, minimal.PrimaryKey = nil, nil, nil, nil
	for _, m := range []TableMap{m, minimal} {
		columns, err := d.Match(m, c.c.o)
		if err != nil {
			c.fail("%v\n%s\n%+v", err, c.own(d), m)
		}
		visible := slices.DeleteFunc(slices.Clone(columns), func(i int) bool { return i < 0 })
		if t, err := d.Table(); err != nil || len(visible) != len(t.Columns) {
			c.fail("table %s has %d columns in the log (%v)", d.ID, len(visible), err)
		}
	}
	if m.Names == nil {
		c.fail("table %s comes without names: the test wants binlog_row_metadata=FULL", d.ID)
	}
	made, err := FromTableMap(d.ID, m, c.c.o)
	if err != nil {
		c.fail("%v", err)
	}
	if _, err := made.Match(m, c.c.o); err != nil {
		c.fail("a definition made from the log does not fit it: %v", err)
	}
	own := d.visible()
	for i, col := range made.visible() {
		if !sameName(col.Name, own[i].Name) || col.Nullable != own[i].Nullable {
			c.fail("table %s: column %d is %+v in the log, %+v in the catalogue", d.ID, i, col, own[i])
		}
	}
}

// tableMaps returns the TABLE_MAPs behind a place of the log, of the test's databases.
func (c *serverCase) tableMaps(server *mysqltest.Server, file string, pos int) map[schema.TableID]TableMap {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	conn, err := wire.Connect(ctx, wire.Config{Host: server.Host, Port: server.Port, User: server.User, Password: server.Password})
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	request := wire.DumpRequest{ServerID: 4711, File: file, Position: uint64(pos), Hidden: true, EndAtEOF: true}
	if err := conn.Dump(ctx, request); err != nil {
		c.t.Fatal(err)
	}
	out := map[schema.TableID]TableMap{}
	var format *event.Format
	for {
		p, err := conn.ReadPacket()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			c.t.Fatal(err)
		}
		h, err := event.ParseHeader(p)
		if err != nil {
			c.t.Fatal(err)
		}
		body, err := format.Body(h, p)
		if err != nil {
			c.t.Fatal(err)
		}
		switch h.Type {
		case event.FormatType:
			if format, err = event.ParseFormat(body); err != nil {
				c.t.Fatal(err)
			}
		case event.TableMapType:
			var m event.TableMap
			if err := m.Parse(format, body); err != nil {
				c.t.Fatal(err)
			}
			if id := (schema.TableID{Schema: string(m.Database), Table: string(m.Table)}); slices.Contains(c.databases, id.Schema) {
				out[id] = logged(c.t, &m)
			}
		}
	}
}

// logged turns a TABLE_MAP event into what this package takes.
func logged(t *testing.T, e *event.TableMap) TableMap {
	meta, err := e.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	m := TableMap{Types: slices.Clone(e.Types), Metas: slices.Clone(e.Metas), Unsigned: meta.Unsigned, Collations: meta.Collations, Geometry: meta.Geometry,
		Dimensions: meta.Dimensions, Names: meta.Names, Labels: meta.Labels, Visible: meta.Visible, PrimaryKey: meta.PrimaryKey, Prefixes: meta.Prefixes}
	for i := range e.Types {
		m.Nullable = append(m.Nullable, e.Nullable.Has(i))
	}
	return m
}
