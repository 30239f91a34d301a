package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// A script's lines: `node NAME parallelism [source]`, `edge FROM TO [forward]`.
func TestPlan(t *testing.T) {
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		var g Graph
		byUID := map[string]int{}
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			switch f[0] {
			case "node":
				n := Node{UID: strings.Trim(f[1], `"`), Source: len(f) > 3}
				fmt.Sscan(f[2], &n.Parallelism)
				byUID[f[1]] = g.Add(n)
			case "edge":
				g.Connect(byUID[f[1]], byUID[f[2]], len(f) > 3)
			}
		}
		p, err := g.Plan(128)
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for _, task := range p.Tasks {
			fmt.Fprintf(&b, "%s: subtasks %d to %d, inputs %d\n", task.Name, task.First, task.First+task.Parallelism-1, p.Inputs[task.Nodes[0]])
		}
		for i, e := range g.Edges {
			if !p.Chained[i] {
				fmt.Fprintf(&b, "  %s to %s from input %d\n", g.Nodes[e.From].Name, g.Nodes[e.To].Name, p.FirstInput[i])
			}
		}
		return b.String()
	})
}
