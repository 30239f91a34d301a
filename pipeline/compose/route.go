package compose

import (
	"fmt"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/schema"
)

// MergeError says that two source tables go to one sink table.
type MergeError struct {
	Target        schema.TableID
	First, Second schema.TableID
	FirstRule     int // the number of the route rule, -1 for none
	SecondRule    int
}

func (e *MergeError) Error() string {
	return fmt.Sprintf("tables %s (%s) and %s (%s) both go to %s; merging tables is not there yet, give each a sink table of its own",
		e.First, describeRule(e.FirstRule), e.Second, describeRule(e.SecondRule), e.Target)
}

// Permanent says that another attempt can't help.
func (e *MergeError) Permanent() bool { return true }

func describeRule(rule int) string {
	if rule < 0 {
		return "no route"
	}
	return fmt.Sprintf("route rule %d", rule+1)
}

// Routes says where each table goes and makes sure that no two tables go to one.
// It is used by one goroutine.
type Routes struct {
	router *match.Router
	known  map[schema.TableID][]match.Target
	owner  map[schema.TableID]owner
}

type owner struct {
	table schema.TableID
	rule  int
}

// NewRoutes returns the routes of a router.
func NewRoutes(router *match.Router) *Routes {
	return &Routes{router: router, known: map[schema.TableID][]match.Target{}, owner: map[schema.TableID]owner{}}
}

// Targets returns the sink tables of a source table. The error is a
// [*match.RuleError] or a [*MergeError].
func (r *Routes) Targets(id schema.TableID) ([]match.Target, error) {
	if targets, ok := r.known[id]; ok {
		return targets, nil
	}
	targets, err := r.router.Route(id)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if first, taken := r.owner[t.ID]; taken {
			return nil, &MergeError{Target: t.ID, First: first.table, FirstRule: first.rule, Second: id, SecondRule: t.Rule}
		}
	}
	for _, t := range targets {
		r.owner[t.ID] = owner{id, t.Rule}
	}
	r.known[id] = targets
	return targets, nil
}
