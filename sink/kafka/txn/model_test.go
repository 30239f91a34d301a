package txn

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// sabotage is a step of the protocol that is left out, to see that the model notices.
type sabotage string

const (
	trust  sabotage = "a refusal is taken for a commit"
	blind  sabotage = "the marker is not looked at"
	fence  sabotage = "all ids are fenced before what is prepared is ended"
	reuse  sabotage = "an id is used again without being initialised"
	early  sabotage = "a transaction is ended before its checkpoint is stored"
	hope   sabotage = "a request without an answer is taken for done"
	onward sabotage = "a loss is not gone back from"
	torn   sabotage = "records that were not acknowledged are committed"
)

// stored is a checkpoint in the model's store.
type storedCheckpoint struct {
	id      int64
	next    int // record
	pending []Committable
}

// world is a broker, a store of checkpoints, the process, and those that should be dead.
type world struct {
	rng      *rand.Rand
	broken   sabotage
	b        *broker
	store    []storedCheckpoint
	gen      int
	process  *process
	zombies  []*process
	late     []func() Result // requests on their way
	total    int
	confirm  int // records known to be visible
	restarts int
	lost     int
	hazards  float64 // how often something goes wrong
	mild     bool    // no time-outs, no zombies, no late requests
}

// process runs a pipeline: records 1, 2, 3, ... into checkpoints.
type process struct {
	w       *world
	gen     int
	m       *Machine
	todo    []Action
	clients map[string]Committable
	next    int // record to be written
	id      int64
	barrier bool              // Prepared is awaited
	publish *storedCheckpoint // one that is prepared and not stored, or nil
	fault   Result
	dead    bool
}

func newWorld(seed uint64, v Version, broken sabotage) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{rng: rng, broken: broken, b: newBroker(v, 60+rng.IntN(200)), total: 150, hazards: 0.02}
	w.restart()
	return w
}

// restart gives up the process and starts the next one from the newest checkpoint.
func (w *world) restart() {
	if w.process != nil {
		w.restarts++
		if !w.mild && !w.process.dead && w.rng.IntN(2) == 0 {
			w.zombies = append(w.zombies, w.process)
		}
	}
	w.gen++
	p := &process{w: w, gen: w.gen, m: New(Config{Prefix: "p", Lineage: "L", Tries: 50}), clients: map[string]Committable{}, next: 1}
	w.process = p
	in := Restore{}
	if n := len(w.store); n > 0 {
		c := w.store[n-1]
		in = Restore{Restored: true, Checkpoint: c.id, Pending: c.pending}
		p.next, p.id = c.next, c.id
	}
	for id := range w.b.ids {
		in.Listed = append(in.Listed, id)
	}
	if w.broken == fence {
		for _, c := range in.Pending {
			w.b.init(c.ID)
		}
	}
	p.step(in)
}

// step gives the machine an input. Of a process that is no zombie the world restarts
// what fails.
func (p *process) step(in Input) {
	actions, err := p.m.Step(in)
	if err == nil {
		p.todo = append(p.todo, actions...)
		return
	}
	p.dead = true
	if p.w.process != p {
		return
	}
	if errors.Is(err, ErrOrder) {
		panic(err)
	}
	var lost *LostError
	if errors.As(err, &lost) && p.w.broken != onward {
		p.w.lost++
		for n := len(p.w.store); n > 0 && p.w.store[n-1].id >= lost.Committable.Checkpoint; n-- {
			p.w.store = p.w.store[:n-1]
		}
	} else if errors.As(err, &lost) {
		c := &p.w.store[len(p.w.store)-1]
		c.pending = nil // what is lost is not looked for again
	}
	p.w.restart()
}

// run does one thing.
func (p *process) run() {
	if p.dead {
		return
	}
	rng := p.w.rng
	if len(p.todo) > 0 {
		a := p.todo[0]
		p.todo = p.todo[1:]
		p.carryOut(a)
		return
	}
	if p.m.phase != ready || p.barrier {
		return
	}
	if p.publish != nil && (rng.IntN(4) > 0 || p.next > p.w.total) {
		p.store()
		return
	}
	id, open := p.m.Open()
	switch {
	case p.next <= p.w.total && rng.IntN(8) > 0 && !open:
		if !p.m.wanted {
			p.step(Write{})
		}
	case p.next <= p.w.total && open && rng.IntN(8) > 0:
		p.write(id)
	case p.publish == nil || rng.IntN(20) == 0 && len(p.m.Pending()) < 5: // the one before may fail to be stored
		if !p.m.wanted {
			p.id++
			p.barrier = true
			p.step(Prepare{Checkpoint: p.id, Position: uint64(p.next)})
		}
	}
}

// write produces the next record.
func (p *process) write(id string) {
	c := p.clients[id]
	switch tx := p.w.b.write(id, c.ProducerID, c.Epoch); {
	case tx == nil:
		p.fault = Refused
	case p.w.rng.Float64() < p.w.hazards/4 && p.fault == Done:
		p.fault = Unknown // lost on the way
	default:
		p.w.b.data = append(p.w.b.data, logEntry[int]{p.next, tx})
	}
	p.next++
}

// store publishes a checkpoint; only the newest process can.
func (p *process) store() {
	c := *p.publish
	p.publish = nil
	if p.gen != p.w.gen {
		p.dead = true
		return
	}
	p.w.store = append(p.w.store, c)
	p.step(Stored{Checkpoint: c.id})
}

// answer makes an answer get lost sometimes, or the request itself, which may also
// reach the broker long after nobody waits for it.
func (p *process) answer(request func() Result) Result {
	switch v := p.w.rng.Float64(); {
	case v < p.w.hazards/2:
		return Unknown
	case v < p.w.hazards && !p.w.mild:
		p.w.late = append(p.w.late, request)
		return Unknown
	case v < 2*p.w.hazards:
		request()
		return Unknown
	case v < 3*p.w.hazards:
		return Again
	}
	return request()
}

func (p *process) carryOut(a Action) {
	b, rng := p.w.b, p.w.rng
	switch a := a.(type) {
	case Init:
		if p.w.broken == reuse && p.m.phase == ready && p.clients[a.ID].ID != "" {
			p.step(Inited{ID: a.ID})
			return
		}
		var c Committable
		r := p.answer(func() Result {
			pid, epoch := b.init(a.ID)
			c = Committable{ID: a.ID, ProducerID: pid, Epoch: epoch}
			return Done
		})
		if r == Done {
			p.clients[a.ID] = c
		}
		p.step(Inited{ID: a.ID, Result: r})
	case Begin:
		p.fault = Done
		c := p.clients[a.ID]
		p.step(Began{ID: a.ID, ProducerID: c.ProducerID, Epoch: c.Epoch, Version: b.version})
	case WriteMarker:
		c := p.clients[a.ID]
		if tx := b.write(a.ID, c.ProducerID, c.Epoch); tx != nil {
			b.markers = append(b.markers, logEntry[Marker]{a.Marker, tx})
		} else {
			p.fault = Refused
		}
	case Flush:
		if p.w.broken == torn {
			p.fault = Done
		}
		p.step(Flushed{ID: a.ID, Result: p.fault})
	case Prepared:
		p.barrier, p.publish = false, &storedCheckpoint{id: a.Checkpoint, next: p.next, pending: p.m.Pending()}
		if p.w.broken == early && !a.Empty {
			c := a.Committable
			b.end(c.ID, c.ProducerID, c.Epoch, c.Version)
			p.clients[c.ID] = Committable{ID: c.ID, ProducerID: b.ids[c.ID].pid, Epoch: b.ids[c.ID].epoch}
		}
	case End:
		p.end(a)
	case ReadMarker:
		in := MarkerRead{}
		if found := b.markers.visible(); len(found) > 0 {
			in.Found, in.Marker = true, found[len(found)-1]
		}
		if p.w.broken == blind {
			in = MarkerRead{}
		}
		if p.w.broken == trust && len(p.m.queue) > 0 && p.m.queue[0].doubt {
			c := p.m.queue[0].c
			in = MarkerRead{Found: true, Marker: Marker{Lineage: "L", Checkpoint: c.Checkpoint, ID: c.ID, ProducerID: c.ProducerID, Epoch: c.Epoch}}
		}
		if rng.Float64() < p.w.hazards {
			in.Result = Again
		}
		p.step(in)
	}
}

func (p *process) end(a End) {
	c := a.Committable
	r := p.answer(func() Result { return p.w.b.end(c.ID, c.ProducerID, c.Epoch, c.Version) })
	if r == Unknown && p.w.broken == hope {
		r = Done
	}
	if r == Done && a.Live && c.Version == V2 {
		known := p.w.b.ids[c.ID] // the answer has them
		p.clients[c.ID] = Committable{ID: c.ID, ProducerID: known.pid, Epoch: known.epoch}
	}
	p.step(Ended{ID: c.ID, Result: r})
}

// check looks at what a consumer sees: 1, 2, 3, ... and nothing else.
func (w *world) check() error {
	seen := w.b.data.visible()
	for i, v := range seen {
		if v != i+1 {
			return fmt.Errorf("record %d of what is visible is %d: %v", i+1, v, seen[max(0, i-5):min(len(seen), i+5)])
		}
	}
	if len(seen) < w.confirm {
		return fmt.Errorf("%d records were visible, now %d are", w.confirm, len(seen))
	}
	w.confirm = len(seen)
	return nil
}

// play runs the world until all records are visible.
func (w *world) play() error {
	for step := 0; ; step++ {
		if err := w.check(); err != nil {
			return err
		}
		if w.confirm == w.total {
			return nil
		}
		if step > 200_000 {
			return fmt.Errorf("no end: %d of %d records are visible", w.confirm, w.total)
		}
		if step > 20_000 { // let it come to its end
			w.hazards = 0
		}
		w.b.tick(1)
		switch v := w.rng.Float64(); {
		case v < w.hazards/2: // a crash
			w.restart()
		case v < w.hazards*0.6 && !w.mild: // an outage longer than the transactions' time-out
			w.b.tick(w.b.timeout + 1)
		case v < 0.02 && len(w.late) > 0:
			i := w.rng.IntN(len(w.late))
			w.late[i]()
			w.late = append(w.late[:i], w.late[i+1:]...)
		case v < 0.3 && len(w.zombies) > 0:
			w.zombies[w.rng.IntN(len(w.zombies))].run()
		default:
			w.process.run()
		}
	}
}
