package registry

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// pathPattern finds the places in a schema that a registry speaks of.
var pathPattern = regexp.MustCompile(`path '(/[^']*)'`)

// fieldsAt returns the names of the fields at the places of a schema that a text speaks of:
// x for /fields/2/type, where the third field is x.
func fieldsAt(schema, text string) (names []string) {
	var root any
	if json.Unmarshal([]byte(schema), &root) != nil {
		return nil
	}
	for _, m := range pathPattern.FindAllStringSubmatch(text, -1) {
		name := ""
		at := root
		for _, step := range strings.Split(m[1], "/")[1:] {
			switch v := at.(type) {
			case map[string]any:
				at = v[step]
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i < 0 || i >= len(v) {
					at = nil
					continue
				}
				at = v[i]
				if field, ok := at.(map[string]any); ok && field["type"] != nil && field["name"] != nil && field["fields"] == nil {
					name, _ = field["name"].(string)
				}
			}
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
