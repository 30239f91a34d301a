package keygroup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// cases calls fn for each line of a file of vectors that Flink gave.
func cases[T any](t *testing.T, file string, fn func(c T)) {
	t.Helper()
	dir := os.Getenv("FRESHET_CONFORMANCE")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	data, err := os.ReadFile(filepath.Join(dir, "flink", file))
	if os.IsNotExist(err) {
		t.Skipf("no conformance vectors (set FRESHET_CONFORMANCE): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		var c T
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		fn(c)
		n++
	}
	if n == 0 {
		t.Fatalf("%s has no cases", file)
	}
}

type groupCase struct {
	Name       string
	Type       string
	Key        json.RawMessage
	UTF16      string
	Hash       int32
	Group      map[string]int
	Subtask128 map[string]int
}

func TestConformanceKeyGroups(t *testing.T) {
	cases(t, "key-groups.jsonl", func(c groupCase) {
		hash, err := c.hash()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			return
		}
		if hash != c.Hash {
			t.Errorf("%s (%s): hash %d, want %d", c.Name, c.Type, hash, c.Hash)
		}
		for maxP, want := range c.Group {
			m, _ := strconv.Atoi(maxP)
			if got := Of(hash, m); got != want {
				t.Errorf("%s: key group %d of %d, want %d", c.Name, got, m, want)
			}
		}
		for par, want := range c.Subtask128 {
			p, _ := strconv.Atoi(par)
			if got := OperatorIndex(Of(hash, 128), 128, p); got != want {
				t.Errorf("%s: subtask %d of %d, want %d", c.Name, got, p, want)
			}
		}
	})
}

func (c groupCase) hash() (int32, error) {
	if c.Type == "string" {
		return c.hashString()
	}
	if c.Type == "double" || c.Type == "float" {
		var s string
		if err := json.Unmarshal(c.Key, &s); err != nil {
			return 0, err
		}
		raw, err := strconv.ParseUint(s, 16, 64)
		if c.Type == "float" {
			return HashFloat(math.Float32frombits(uint32(raw))), err
		}
		return HashDouble(math.Float64frombits(raw)), err
	}
	return hashValue(c.Type, c.Key)
}

// hashString also checks the two ways to hash a string against each other.
func (c groupCase) hashString() (int32, error) {
	raw, err := hex.DecodeString(c.UTF16)
	if err != nil {
		return 0, err
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	h := HashUTF16(units)
	if c.Key == nil { // lone surrogates: no Go string
		return h, nil
	}
	var s string
	if err := json.Unmarshal(c.Key, &s); err != nil {
		return 0, err
	}
	if got := HashString(s); got != h {
		return 0, fmt.Errorf("HashString %d, HashUTF16 %d", got, h)
	}
	return h, nil
}

func hashValue(typ string, raw json.RawMessage) (int32, error) {
	var (
		i   int64
		b   bool
		s   string
		err error
	)
	switch typ {
	case "int", "short", "byte", "char":
		err = json.Unmarshal(raw, &i)
		return HashInt(int32(i)), err
	case "long":
		err = json.Unmarshal(raw, &i)
		return HashLong(i), err
	case "boolean":
		err = json.Unmarshal(raw, &b)
		return HashBool(b), err
	case "string":
		err = json.Unmarshal(raw, &s)
		return HashString(s), err
	}
	types, ok := map[string][]string{
		"tuple2<string,int>":          {"string", "int"},
		"tuple2<string,long>":         {"string", "long"},
		"tuple3<string,long,boolean>": {"string", "long", "boolean"},
	}[typ]
	if !ok {
		return 0, fmt.Errorf("type %s is not handled", typ)
	}
	var fields []json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return 0, err
	}
	hashes := make([]int32, len(fields))
	for i, f := range fields {
		if hashes[i], err = hashValue(types[i], f); err != nil {
			return 0, err
		}
	}
	return HashTuple(hashes...), nil
}

func TestConformanceRanges(t *testing.T) {
	type rangeCase struct {
		Name           string
		MaxParallelism int `json:"max_parallelism"`
		Parallelism    int
		Ranges         [][2]int
	}
	cases(t, "key-group-ranges.jsonl", func(c rangeCase) {
		got := Ranges(c.MaxParallelism, c.Parallelism)
		if len(got) != len(c.Ranges) {
			t.Errorf("%s: %d ranges, want %d", c.Name, len(got), len(c.Ranges))
			return
		}
		for i, want := range c.Ranges {
			if got[i] != (Range{want[0], want[1]}) {
				t.Errorf("%s: range %d is %v, want %v", c.Name, i, got[i], want)
			}
		}
	})
}

func TestConformanceDefaultMaxParallelism(t *testing.T) {
	type defaultCase struct {
		Name        string
		Parallelism int
		Want        int `json:"default_max_parallelism"`
		Error       string
		CheckedUpTo int `json:"checked_up_to"`
		Steps       []struct {
			From int `json:"from_parallelism"`
			Want int `json:"default_max_parallelism"`
		}
	}
	cases(t, "default-max-parallelism.jsonl", func(c defaultCase) {
		if c.Error != "" { // Flink refuses it
			if CheckParallelism(c.Parallelism, MaxMaxParallelism) == nil {
				t.Errorf("%s: accepted", c.Name)
			}
			return
		}
		if c.Parallelism != 0 {
			if got := DefaultMaxParallelism(c.Parallelism); got != c.Want {
				t.Errorf("%s: %d, want %d", c.Name, got, c.Want)
			}
			return
		}
		for i, p := -1, 1; p <= c.CheckedUpTo; p++ {
			if i+1 < len(c.Steps) && c.Steps[i+1].From == p {
				i++
			}
			if got := DefaultMaxParallelism(p); got != c.Steps[i].Want {
				t.Errorf("parallelism %d: %d, want %d", p, got, c.Steps[i].Want)
			}
		}
	})
}
