// Package plan says what a pipeline would do before it does anything: which
// tables it reads, how big they are, in how many chunks, and what each becomes in
// the sink.
//
//	p, err := plan.Make(tables, routes, snk)
//	if err == nil {
//		err = p.Print(os.Stdout, true)
//	}
package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

// Plan is what a pipeline would do.
type Plan struct {
	Tables []Table
	// Notes concern the pipeline as a whole.
	Notes []string
}

// Table is one captured table.
type Table struct {
	Source  source.Table
	Targets []Target
}

// Target is one sink table that a captured table goes to.
type Target struct {
	match.Target
	sink.Description
}

// Router says where tables go; it is implemented by compose.Routes.
type Router interface {
	Targets(id schema.TableID) ([]match.Target, error)
}

// Describer is the part of sink.Sink that a plan needs.
type Describer interface {
	Describe(table *schema.Table, target schema.TableID) (sink.Description, error)
}

// Make makes the plan. It connects to nothing.
func Make(tables []source.Table, routes Router, snk Describer) (*Plan, error) {
	p := &Plan{}
	for _, t := range tables {
		targets, err := routes.Targets(t.Schema.ID)
		if err != nil {
			return nil, err
		}
		entry := Table{Source: t}
		for _, target := range targets {
			d, err := snk.Describe(t.Schema, target.ID)
			if err != nil {
				return nil, fmt.Errorf("table %s in the sink as %s: %w", t.Schema.ID, target.ID, err)
			}
			entry.Targets = append(entry.Targets, Target{Target: target, Description: d})
		}
		p.Tables = append(p.Tables, entry)
	}
	return p, nil
}

// Print writes the plan as text: a line for each table, then, with columns, each
// table's columns and types, and all notes.
func (p *Plan) Print(w io.Writer, columns bool) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "TABLE\tROWS\tSIZE\tCHUNKS\tKEY\tTARGET\tMODE")
	rows, bytes := int64(0), int64(0)
	for _, t := range p.Tables {
		rows, bytes = rows+max(t.Source.Rows, 0), bytes+max(t.Source.Bytes, 0)
		key := strings.Join(t.Source.Schema.PrimaryKey, ", ")
		if key == "" {
			key = "none"
		}
		for _, target := range t.Targets {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", t.Source.Schema.ID, estimate(t.Source.Rows), Bytes(t.Source.Bytes), t.Source.Chunks, key, target.Description.Target, target.Mode)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d tables, about %d rows, %s\n", len(p.Tables), rows, Bytes(bytes))
	if columns {
		if err := p.printColumns(w); err != nil {
			return err
		}
	}
	return p.printNotes(w)
}

func (p *Plan) printColumns(w io.Writer) error {
	for _, t := range p.Tables {
		for _, target := range t.Targets {
			fmt.Fprintf(w, "\n%s -> %s\n", t.Source.Schema.ID, target.Description.Target)
			tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
			for _, c := range target.Columns {
				fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", c.Name, c.SourceType, c.SinkType, c.Note)
			}
			if err := tw.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plan) printNotes(w io.Writer) error {
	var notes []string
	notes = append(notes, p.Notes...)
	for _, t := range p.Tables {
		for _, n := range t.Source.Notes {
			notes = append(notes, fmt.Sprintf("%s: %s", t.Source.Schema.ID, n))
		}
		for _, target := range t.Targets {
			for _, n := range target.Notes {
				notes = append(notes, fmt.Sprintf("%s: %s", target.Description.Target, n))
			}
		}
	}
	if len(notes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nNotes\n  %s\n", strings.Join(notes, "\n  "))
	return err
}

func estimate(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return strconv.FormatInt(n, 10)
}

// Bytes prints a size for people, in units of 1024.
func Bytes(n int64) string {
	if n < 0 {
		return "unknown"
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n), "KMGTPE"
	i := -1
	for value >= 1024 && i < len(units)-1 {
		value, i = value/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", value, units[i])
}
