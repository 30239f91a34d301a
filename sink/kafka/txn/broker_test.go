package txn

// status is how a transaction of the model ended.
type status uint8

const (
	ongoing status = iota
	committed
	aborted
)

// transaction is one of the model broker's.
type transaction struct {
	status  status
	touched int // when it began
}

// producer is what the model broker knows of a transactional id.
type producer struct {
	pid   int64
	epoch int16
	open  *transaction
	last  status // of the one before; ongoing is none yet
}

// entry of a partition.
type logEntry[T any] struct {
	value T
	tx    *transaction
}

// partition is a log that is read as a consumer of committed records does.
type partition[T any] []logEntry[T]

// visible returns what is committed below the first open transaction.
func (p partition[T]) visible() (out []T) {
	for _, e := range p {
		switch e.tx.status {
		case ongoing:
			return out
		case committed:
			out = append(out, e.value)
		}
	}
	return out
}

// broker is a model of what matters here of a broker: epochs, both versions of the
// protocol, time-outs, and what consumers see.
type broker struct {
	version Version
	now     int
	timeout int
	nextPID int64
	ids     map[string]*producer
	data    partition[int]
	markers partition[Marker]
}

func newBroker(v Version, timeout int) *broker {
	return &broker{version: v, timeout: timeout, ids: map[string]*producer{}}
}

// maxEpoch is small, so that numbers of producers come to their end.
const maxEpoch = 6

// tick lets time pass and gives up what is open for too long.
func (b *broker) tick(n int) {
	b.now += n
	for _, p := range b.ids {
		if p.open != nil && b.now-p.open.touched > b.timeout {
			b.finish(p, aborted)
			b.bump(p)
		}
	}
}

func (b *broker) bump(p *producer) {
	if p.epoch++; p.epoch >= maxEpoch {
		b.nextPID++
		p.pid, p.epoch = b.nextPID, 0
	}
}

func (b *broker) finish(p *producer, s status) {
	p.open.status = s
	p.open, p.last = nil, s
}

// init is InitProducerID.
func (b *broker) init(id string) (pid int64, epoch int16) {
	p := b.ids[id]
	if p == nil {
		b.nextPID++
		p = &producer{pid: b.nextPID}
		b.ids[id] = p
		return p.pid, p.epoch
	}
	if p.open != nil {
		b.finish(p, aborted)
	}
	b.bump(p)
	p.last = ongoing
	return p.pid, p.epoch
}

// write returns the transaction that a record of a producer belongs to, nil if the
// producer is fenced.
func (b *broker) write(id string, pid int64, epoch int16) *transaction {
	p := b.ids[id]
	if p == nil || p.pid != pid || p.epoch != epoch {
		return nil
	}
	if p.open == nil {
		p.open = &transaction{touched: b.now}
	}
	return p.open
}

// end is EndTxn(commit) as version v sends it.
func (b *broker) end(id string, pid int64, epoch int16, v Version) Result {
	p := b.ids[id]
	if v > b.version {
		return Unknown // UNSUPPORTED_VERSION, and the transaction is stuck
	}
	if p == nil {
		return Refused // INVALID_PRODUCER_ID_MAPPING
	}
	if v == V1 {
		switch {
		case p.pid != pid || p.epoch != epoch:
			return Refused // PRODUCER_FENCED
		case p.open != nil:
			b.finish(p, committed)
			return Done
		case p.last == committed:
			return Done // a repetition, as far as the broker can tell
		}
		return Refused // INVALID_TXN_STATE
	}
	switch {
	case p.pid == pid && p.epoch == epoch && p.open != nil:
		b.finish(p, committed)
		b.bump(p)
		return Done
	case p.pid == pid && p.epoch == epoch+1 && p.open == nil && p.last == committed:
		return Done
	case p.epoch == 0 && epoch == maxEpoch-1 && p.open == nil && p.last == committed && p.pid > pid:
		return Done // the number changed with the epoch
	}
	return Refused
}
