package main

import (
	"testing"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// TestCrash is crash.sh in the size of the tier.
func TestCrash(t *testing.T) {
	servers.Require(t)
	c := config{sink: "iceberg", kills: 12, seed: 1, changes: 15_000}
	if servers.Full() {
		c.kills, c.changes = 40, 100_000
	}
	for _, source := range []string{"postgres", "mysql", "mariadb"} {
		versions := kinds[source].versions
		if !servers.Full() && source != "postgres" {
			versions = versions[:1]
		}
		for _, version := range versions {
			c.source, c.server = source, version
			c.seed++
			t.Run(source+"-"+version, func(t *testing.T) {
				c.dir = t.TempDir()
				r, err := crash(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", r)
				if r.kills != c.kills || r.changes < c.changes || r.lost+r.doubled+r.broken > 0 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// TestCrashKafka is crash.sh into Kafka in the size of the tier.
func TestCrashKafka(t *testing.T) {
	servers.Require(t)
	c := config{sink: "kafka", kills: 15, seed: 21, changes: 6000}
	if servers.Full() {
		c.kills, c.changes = 150, 100_000
	}
	for _, source := range []string{"postgres", "mysql"} {
		t.Run(source, func(t *testing.T) {
			c := c
			c.source, c.server, c.dir = source, kinds[source].versions[0], t.TempDir()
			r, err := crash(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if r.kills != c.kills || r.changes < c.changes || r.lost+r.doubled+r.broken > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
