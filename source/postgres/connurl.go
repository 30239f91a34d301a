package postgres

import (
	"fmt"
	"net"
	"net/url"
	"sort"
	"strings"
)

// urlKeywords takes a libpq URL apart into keywords, several hosts included.
func urlKeywords(text string) ([][2]string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	var out [][2]string
	var hosts, ports []string
	for _, h := range strings.Split(u.Host, ",") {
		if h == "" {
			continue
		}
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = strings.Trim(h, "[]"), ""
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if len(hosts) > 0 {
		out = append(out, [2]string{"host", strings.Join(hosts, ",")})
		if p := strings.Join(ports, ","); strings.Trim(p, ",") != "" {
			out = append(out, [2]string{"port", p})
		}
	}
	if u.User != nil {
		out = append(out, [2]string{"user", u.User.Username()})
		if p, ok := u.User.Password(); ok {
			out = append(out, [2]string{"password", p})
		}
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		out = append(out, [2]string{"dbname", db})
	}
	query := u.Query()
	keys := make([]string, 0, len(query))
	for k := range query {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out = append(out, [2]string{k, query.Get(k)})
	}
	return out, nil
}
