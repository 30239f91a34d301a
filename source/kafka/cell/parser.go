package cell

// parser reads dates and times.
type parser struct {
	text []byte
	pos  int
}

func (p *parser) end() bool { return p.pos == len(p.text) }

// byte passes over one of the bytes of any.
func (p *parser) byte(any string) (byte, bool) {
	if p.pos < len(p.text) {
		for i := range len(any) {
			if p.text[p.pos] == any[i] {
				p.pos++
				return any[i], true
			}
		}
	}
	return 0, false
}

// number reads from least to most digits.
func (p *parser) number(least, most int) (v int64, ok bool) {
	start := p.pos
	for p.pos < len(p.text) && p.pos-start < most && p.text[p.pos]-'0' <= 9 {
		v = v*10 + int64(p.text[p.pos]-'0')
		p.pos++
	}
	return v, p.pos-start >= least
}

// infinity reads infinity and -infinity.
func (p *parser) infinity() (sign int, ok bool) {
	switch string(p.text) {
	case "infinity":
		return 1, true
	case "-infinity":
		return -1, true
	}
	return 0, false
}

// date reads [+-]year-month-day.
func (p *parser) date() (days int64, ok bool) {
	sign, signed := p.byte("+-")
	year, ok1 := p.number(4, 9)
	_, ok2 := p.byte("-")
	month, ok3 := p.number(2, 2)
	_, ok4 := p.byte("-")
	day, ok5 := p.number(2, 2)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	if signed && sign == '-' {
		year = -year
	}
	length := [...]int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		length = 29
	}
	return epochDays(year, month, day), day <= length
}

// epochDays counts the days since 1970 of the proleptic Gregorian calendar. Years begin in
// March here, so that the day that comes and goes is the last one.
func epochDays(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

// clock reads hours:minutes[:seconds[.fraction]] in nanoseconds.
func (p *parser) clock() (nanos int64, ok bool) {
	_, negative := p.byte("-")
	h, ok1 := p.number(2, 3)
	_, ok2 := p.byte(":")
	m, ok3 := p.number(2, 2)
	if !ok1 || !ok2 || !ok3 || m > 59 {
		return 0, false
	}
	nanos = (h*60 + m) * 60e9
	if _, more := p.byte(":"); more {
		s, ok := p.number(2, 2)
		if !ok || s > 59 {
			return 0, false
		}
		nanos += s * 1e9
		if _, more := p.byte("."); more {
			start := p.pos
			f, ok := p.number(1, 9)
			if !ok {
				return 0, false
			}
			for n := p.pos - start; n < 9; n++ {
				f *= 10
			}
			nanos += f
		}
	}
	if negative {
		nanos = -nanos
	}
	return nanos, true
}

// zulu passes over the Z that stands for UTC.
func (p *parser) zulu() bool {
	_, ok := p.byte("zZ")
	return ok
}

// offset reads Z or an offset from UTC, in seconds.
func (p *parser) offset() (seconds int64, ok bool) {
	if p.zulu() {
		return 0, true
	}
	sign, ok1 := p.byte("+-")
	h, ok2 := p.number(2, 2)
	if !ok1 || !ok2 {
		return 0, false
	}
	var m, s int64
	p.byte(":")
	if !p.end() {
		if m, ok = p.number(2, 2); !ok {
			return 0, false
		}
		if _, more := p.byte(":"); more {
			if s, ok = p.number(2, 2); !ok {
				return 0, false
			}
		}
	}
	seconds = h*3600 + m*60 + s
	if sign == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// midnight reads what may follow a date that is one.
func (p *parser) midnight() bool {
	if p.zulu() && p.end() {
		return true
	}
	if _, ok := p.byte("T "); !ok {
		return false
	}
	nanos, ok := p.clock()
	p.zulu()
	return ok && nanos == 0 && p.end()
}

// stamp reads a date and time: seconds since 1970, and nanoseconds. Without an offset it is
// UTC; one other than Z is only taken for an instant.
func (p *parser) stamp(instant bool) (seconds, nanos int64, ok bool) {
	days, ok := p.date()
	if !ok {
		return 0, 0, false
	}
	seconds = days * 86400
	if p.end() {
		return seconds, 0, true
	}
	if !p.zulu() {
		if _, ok := p.byte("T "); !ok {
			return 0, 0, false
		}
		clock, ok := p.clock()
		if !ok || clock < 0 {
			return 0, 0, false
		}
		seconds, nanos = seconds+clock/1e9, clock%1e9
		if !p.end() && !p.zulu() {
			offset, ok := p.offset()
			if !ok || !instant {
				return 0, 0, false
			}
			seconds -= offset
		}
	}
	return seconds, nanos, p.end()
}
