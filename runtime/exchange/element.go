package exchange

// Releaser is implemented by elements that hold resources.
type Releaser interface{ Release() }

// Weigher is implemented by elements that stand for more than one record.
type Weigher interface {
	// Weight is the number of records in the element and their size in memory in bytes.
	Weight() (records, bytes int)
}

// Traits are the optional interfaces of a type of element, found once, so that
// a plain element is never boxed to ask it.
type Traits[T any] struct {
	release, weigh bool
}

// TraitsOf looks at T. An interface type may hold anything: it is asked each time.
func TraitsOf[T any]() Traits[T] {
	var zero T
	if any(zero) == nil {
		return Traits[T]{release: true, weigh: true}
	}
	_, release := any(zero).(Releaser)
	_, weigh := any(zero).(Weigher)
	return Traits[T]{release: release, weigh: weigh}
}

// Release releases elem if it holds anything.
func (t Traits[T]) Release(elem T) {
	if !t.release {
		return
	}
	if r, ok := any(elem).(Releaser); ok {
		r.Release()
	}
}

// Weighs says whether elements may weigh something other than one record and no bytes.
func (t Traits[T]) Weighs() bool { return t.weigh }

// Weight returns the weight of elem; one record and no bytes for a plain element.
func (t Traits[T]) Weight(elem T) (records, bytes int) {
	if t.weigh {
		if w, ok := any(elem).(Weigher); ok {
			return w.Weight()
		}
	}
	return 1, 0
}
