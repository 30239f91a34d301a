package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// The types of well-known binary (OGC 06-103r4).
const (
	wkbPoint = iota + 1
	wkbLineString
	wkbPolygon
	wkbMultiPoint
	wkbMultiLineString
	wkbMultiPolygon
	wkbCollection
)

var geometryNames = [...]string{
	wkbPoint: "Point", wkbLineString: "LineString", wkbPolygon: "Polygon", wkbMultiPoint: "MultiPoint",
	wkbMultiLineString: "MultiLineString", wkbMultiPolygon: "MultiPolygon", wkbCollection: "GeometryCollection",
}

// maxGeometryDepth bounds collections in collections.
const maxGeometryDepth = 100

// geometryForm prints a geometry, the SRID and well-known binary as the servers store
// it, as GeoJSON with the SRID, in Flink CDC's order:
//
//	{"coordinates":[1,2],"type":"Point","srid":0}
//
// Coordinates come as they are stored, x and y, which in a geographic SRS are
// longitude and latitude. Outer rings go counterclockwise and inner ones clockwise,
// as RFC 7946 wants; a ring that does not is turned round, its first point stays first.
func geometryForm() form {
	g := &geometry{}
	return g.form
}

type geometry struct {
	in  []byte
	out []byte
	xy  []float64 // of one ring
}

func (g *geometry) form(v []byte) ([]byte, error) {
	if len(v) < 4 {
		return nil, errShort
	}
	g.in, g.out = v[4:], append(g.out[:0], '{')
	kind, order, err := g.header()
	if err != nil {
		return nil, err
	}
	if err := g.parts(kind, order, 0); err != nil {
		return nil, err
	}
	if len(g.in) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind a geometry", ErrMalformed, len(g.in))
	}
	g.typ(kind)
	g.out = strconv.AppendUint(append(g.out, `,"srid":`...), uint64(binary.LittleEndian.Uint32(v)), 10)
	g.out = append(g.out, '}')
	return g.out, nil
}

func (g *geometry) typ(kind uint32) {
	g.out = append(append(append(g.out, `,"type":"`...), geometryNames[kind]...), '"')
}

// header reads the order of bytes and the type that each geometry begins with.
func (g *geometry) header() (kind uint32, order binary.ByteOrder, err error) {
	if len(g.in) < 5 {
		return 0, nil, errShort
	}
	order = binary.LittleEndian
	switch g.in[0] {
	case 0:
		order = binary.BigEndian
	case 1:
	default:
		return 0, nil, fmt.Errorf("%w: the order of bytes %d in a geometry", ErrMalformed, g.in[0])
	}
	kind = order.Uint32(g.in[1:])
	g.in = g.in[5:]
	if kind < wkbPoint || kind > wkbCollection {
		return 0, nil, fmt.Errorf("%w: the geometry type %d", ErrMalformed, kind)
	}
	return kind, order, nil
}

// parts prints the member that holds what a geometry consists of, and its name.
func (g *geometry) parts(kind uint32, order binary.ByteOrder, depth int) error {
	if kind != wkbCollection {
		g.out = append(g.out, `"coordinates":`...)
		return g.coordinates(kind, order)
	}
	if depth == maxGeometryDepth {
		return fmt.Errorf("%w: collections nested deeper than %d", ErrMalformed, maxGeometryDepth)
	}
	g.out = append(g.out, `"geometries":`...)
	return g.list(order, func() error {
		kind, order, err := g.header()
		if err != nil {
			return err
		}
		// Inside a collection the type stands first.
		g.out = append(append(append(g.out, `{"type":"`...), geometryNames[kind]...), `",`...)
		if err := g.parts(kind, order, depth+1); err != nil {
			return err
		}
		g.out = append(g.out, '}')
		return nil
	})
}

func (g *geometry) coordinates(kind uint32, order binary.ByteOrder) error {
	switch kind {
	case wkbPoint:
		return g.points(order, 1, false, false)
	case wkbLineString:
		return g.line(order)
	case wkbPolygon:
		return g.polygon(order)
	}
	return g.list(order, func() error {
		inner, order, err := g.header()
		if err != nil {
			return err
		}
		if inner != kind-3 { // a MultiX holds Xs
			return fmt.Errorf("%w: a %s in a %s", ErrMalformed, geometryNames[inner], geometryNames[kind])
		}
		return g.coordinates(inner, order)
	})
}

// list prints as many things as the number in front says.
func (g *geometry) list(order binary.ByteOrder, each func() error) error {
	n, err := g.count(order)
	if err != nil {
		return err
	}
	g.out = append(g.out, '[')
	for i := range n {
		if i > 0 {
			g.out = append(g.out, ',')
		}
		if err := each(); err != nil {
			return err
		}
	}
	g.out = append(g.out, ']')
	return nil
}

func (g *geometry) count(order binary.ByteOrder) (uint32, error) {
	if len(g.in) < 4 {
		return 0, errShort
	}
	n := order.Uint32(g.in)
	g.in = g.in[4:]
	return n, nil
}

func (g *geometry) line(order binary.ByteOrder) error {
	n, err := g.count(order)
	if err != nil {
		return err
	}
	return g.points(order, n, true, false)
}

func (g *geometry) polygon(order binary.ByteOrder) error {
	outer := true
	return g.list(order, func() error {
		n, err := g.count(order)
		if err != nil {
			return err
		}
		area := g.area(order, n)
		turn := outer && area < 0 || !outer && area > 0
		outer = false
		return g.points(order, n, true, turn)
	})
}

// area of the ring of n points that follows, twice, negative if it goes clockwise.
func (g *geometry) area(order binary.ByteOrder, n uint32) (area float64) {
	if n == 0 || uint64(n)*16 > uint64(len(g.in)) {
		return 0 // points finds what is cut
	}
	// Seen from the first point, so that digits count.
	x0, y0 := float(order, g.in), float(order, g.in[8:])
	var x1, y1 float64
	for p := g.in[16 : 16*n]; len(p) > 0; p = p[16:] {
		x2, y2 := float(order, p)-x0, float(order, p[8:])-y0
		area += x1*y2 - x2*y1
		x1, y1 = x2, y2
	}
	return area
}

func float(order binary.ByteOrder, p []byte) float64 { return math.Float64frombits(order.Uint64(p)) }

// points prints n points, as a list or one alone, the last first if turn is set.
func (g *geometry) points(order binary.ByteOrder, n uint32, list, turn bool) error {
	if uint64(n)*16 > uint64(len(g.in)) {
		return errShort
	}
	g.xy = g.xy[:0]
	for i := range 2 * int(n) {
		v := float(order, g.in[8*i:])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: a coordinate that is no number", ErrRange)
		}
		g.xy = append(g.xy, v)
	}
	g.in = g.in[16*n:]
	if turn {
		slices.Reverse(g.xy)
		for i := 0; i < len(g.xy); i += 2 {
			g.xy[i], g.xy[i+1] = g.xy[i+1], g.xy[i]
		}
	}
	if list {
		g.out = append(g.out, '[')
	}
	for i := 0; i < len(g.xy); i += 2 {
		if i > 0 {
			g.out = append(g.out, ',')
		}
		g.out = appendCoordinate(append(g.out, '['), g.xy[i])
		g.out = append(appendCoordinate(append(g.out, ','), g.xy[i+1]), ']')
	}
	if list {
		g.out = append(g.out, ']')
	}
	return nil
}

// appendCoordinate prints a whole number without a fraction.
func appendCoordinate(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return appendDouble(dst, v)
}
