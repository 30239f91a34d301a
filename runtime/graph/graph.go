// Package graph turns the logical graph of a job, nodes and edges as the user
// wrote them, into the physical plan: which operators share a goroutine (a
// chain), in how many subtasks, and what flows between them. It knows nothing of
// the types of elements.
//
//	var g graph.Graph
//	src := g.Add(graph.Node{UID: "numbers", Parallelism: 1, Source: true})
//	sum := g.Add(graph.Node{UID: "sum", Parallelism: 2})
//	g.Connect(src, sum, false)
//	plan, err := g.Plan(128) // two tasks: numbers (1 subtask), sum (2 subtasks)
package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
)

// Node is a source or an operator. UID names its state in checkpoints; it is
// chosen by the user, since a generated one would change with the program.
type Node struct {
	UID         string
	Name        string // for people; the uid by default
	Parallelism int
	Source      bool
}

// Edge leads from a node to one of its consumers. A forward edge connects equal
// subtasks; any other one connects every producer with every consumer.
type Edge struct {
	From, To int
	Forward  bool
}

// Graph is a logical graph. The zero value is empty.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// Add adds a node and returns its number.
func (g *Graph) Add(n Node) int {
	if n.Name == "" {
		n.Name = n.UID
	}
	g.Nodes = append(g.Nodes, n)
	return len(g.Nodes) - 1
}

// Connect adds an edge and returns its number. Edges lead from earlier nodes to
// later ones, so a graph has no cycles.
func (g *Graph) Connect(from, to int, forward bool) int {
	g.Edges = append(g.Edges, Edge{From: from, To: to, Forward: forward})
	return len(g.Edges) - 1
}

// Task is a chain of nodes that run in one goroutine per subtask.
type Task struct {
	// Nodes holds the head first, and every node after the one that feeds it.
	Nodes       []int
	Parallelism int
	// Name joins the names of the nodes.
	Name string
	// First is the number of the task's first subtask, counted over all tasks.
	First int
}

// Plan is the physical plan of a graph.
type Plan struct {
	// Tasks holds those with a source first.
	Tasks []Task
	// Chained says for each edge whether it is a call inside a task.
	Chained []bool
	// FirstInput is, for each edge that is not chained, the first of its inputs
	// among the inputs of the consumer's subtasks.
	FirstInput []int
	// Inputs is the number of inputs of each subtask of a node, 0 for a source
	// and for an operator inside a chain.
	Inputs []int
	// Subtasks and SourceSubtasks count the subtasks of all tasks; those of sources come first.
	Subtasks, SourceSubtasks int
}

// Check returns everything that is wrong with the graph, joined.
func (g *Graph) Check(maxParallelism int) error {
	var errs []error
	seen := map[string]bool{}
	inputs := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		inputs[e.To]++
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		if e.Forward && from.Parallelism != to.Parallelism {
			errs = append(errs, fmt.Errorf("operator %q: forward from %q, parallelism %d, to parallelism %d: give both the same or use another partitioner (Rebalance)",
				to.UID, from.UID, from.Parallelism, to.Parallelism))
		}
	}
	sources := 0
	for i, n := range g.Nodes {
		switch {
		case n.UID == "":
			errs = append(errs, fmt.Errorf("node %d (%s): uid is missing; it names the state in checkpoints", i, n.Name))
		case seen[n.UID]:
			errs = append(errs, fmt.Errorf("operator %q: uid is used twice", n.UID))
		}
		seen[n.UID] = true
		if err := keygroup.CheckParallelism(n.Parallelism, maxParallelism); err != nil {
			errs = append(errs, fmt.Errorf("operator %q: %w", n.UID, err))
		}
		if n.Source {
			sources++
		} else if inputs[i] == 0 {
			errs = append(errs, fmt.Errorf("operator %q has no input", n.UID))
		}
	}
	if sources == 0 {
		errs = append(errs, errors.New("graph has no source"))
	}
	return errors.Join(errs...)
}

// Plan checks the graph and makes its physical plan. A forward edge into an
// operator without other inputs is chained.
func (g *Graph) Plan(maxParallelism int) (*Plan, error) {
	if err := g.Check(maxParallelism); err != nil {
		return nil, err
	}
	p := &Plan{
		Chained:    make([]bool, len(g.Edges)),
		FirstInput: make([]int, len(g.Edges)),
		Inputs:     make([]int, len(g.Nodes)),
	}
	inEdges := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		inEdges[e.To]++
	}
	inside := make([]bool, len(g.Nodes))
	for i, e := range g.Edges {
		p.Chained[i] = e.Forward && inEdges[e.To] == 1
		if p.Chained[i] {
			inside[e.To] = true
			continue
		}
		p.FirstInput[i] = p.Inputs[e.To]
		if e.Forward {
			p.Inputs[e.To]++
		} else {
			p.Inputs[e.To] += g.Nodes[e.From].Parallelism
		}
	}
	for _, sources := range []bool{true, false} {
		for i, n := range g.Nodes {
			if n.Source == sources && !inside[i] {
				p.addTask(g, i)
			}
		}
	}
	return p, nil
}

func (p *Plan) addTask(g *Graph, head int) {
	t := Task{Parallelism: g.Nodes[head].Parallelism, First: p.Subtasks, Nodes: g.chain(p, head, nil)}
	names := make([]string, len(t.Nodes))
	for i, n := range t.Nodes {
		names[i] = g.Nodes[n].Name
	}
	t.Name = strings.Join(names, " -> ")
	p.Tasks = append(p.Tasks, t)
	p.Subtasks += t.Parallelism
	if g.Nodes[head].Source {
		p.SourceSubtasks += t.Parallelism
	}
}

// chain appends head and everything that is chained to it, producers first.
func (g *Graph) chain(p *Plan, head int, nodes []int) []int {
	nodes = append(nodes, head)
	for i, e := range g.Edges {
		if e.From == head && p.Chained[i] {
			nodes = g.chain(p, e.To, nodes)
		}
	}
	return nodes
}
