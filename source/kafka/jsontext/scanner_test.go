package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
)

// value reads a value as encoding/json would, with numbers as texts.
func value(s *Scanner) (any, error) {
	switch s.Peek() {
	case '{':
		out := map[string]any{}
		if err := s.Enter('{'); err != nil {
			return nil, err
		}
		for {
			key, ok, err := s.NextKey()
			if !ok || err != nil {
				return out, err
			}
			name := string(key)
			if out[name], err = value(s); err != nil {
				return nil, err
			}
		}
	case '[':
		out := []any{}
		if err := s.Enter('['); err != nil {
			return nil, err
		}
		for {
			if ok, err := s.NextElem(); !ok || err != nil {
				return out, err
			}
			v, err := value(s)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	case '"':
		text, err := s.Text()
		return string(text), err
	case '0':
		n, err := s.Number()
		return json.Number(n), err
	case 't', 'f':
		return s.Bool()
	}
	return nil, s.Null()
}

func read(data []byte) (any, error) {
	var s Scanner
	s.Reset(data)
	v, err := value(&s)
	if err == nil {
		err = s.End()
	}
	return v, err
}

var texts = []string{
	`{"a":1,"b":[true,false,null,"x"],"c":{"d":-1.5e+10}}`, ` [ ] `, `{}`, `"é\u00e9\ud83d\ude00\n\"\\\/"`, `0`, `-0.0`, `1E5`, `[[],[[]],{"":{}}]`,
	`01`, `1.`, `.5`, `-`, `1e`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `[1 2]`, `"\x"`, `"\ud83d"`, `"\ud83dx\ude00"`, "\"\x01\"", `"`, `nul`, `tru`, `{} {}`, ``, "\"\xff\"", `{"a":1 "b":2}`,
}

func TestScanner(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
}

// check compares with encoding/json, which takes half of a surrogate pair and texts that
// are not UTF-8, and nothing else that the scanner does not.
func check(t *testing.T, data []byte) {
	got, err := read(data)
	var s Scanner
	s.Reset(data)
	_, skipErr := s.Skip()
	if skipErr == nil {
		skipErr = s.End()
	}
	if (err == nil) != (skipErr == nil) {
		t.Fatalf("%q: reading says %v, skipping says %v", data, err, skipErr)
	}
	if err != nil {
		return
	}
	var want any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q is read, but is no JSON: %v", data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %v, want %v", data, got, want)
	}
}

func TestRefused(t *testing.T) {
	for _, text := range texts[8:] {
		if v, err := read([]byte(text)); err == nil {
			t.Errorf("%s is read as %v", strconv.Quote(text), v)
		}
	}
	for _, text := range texts[:8] {
		if _, err := read([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(check)
}
