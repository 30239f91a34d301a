package state

import "iter"

// OpKind says what an Op does.
type OpKind uint8

const (
	// OpSet writes Op.Value under Op.Key.
	OpSet OpKind = iota
	// OpDelete removes Op.Key.
	OpDelete
	// OpDeleteRange removes Op.Key <= key < Op.Value.
	OpDeleteRange
)

// Op is one operation of a Batch. Its slices belong to the batch.
type Op struct {
	Kind       OpKind
	Key, Value []byte
}

// Ops returns the operations in the order in which they were added, for back ends.
func (b *Batch) Ops() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		rest := b.data
		for _, op := range b.ops {
			key, val := rest[:op.key:op.key], rest[op.key:op.key+op.val:op.key+op.val]
			rest = rest[op.key+op.val:]
			if !yield(Op{Kind: op.kind, Key: key, Value: val}) {
				return
			}
		}
	}
}
