// Package split keeps the partitions that a source reads: where each stands, where it ends,
// and what a checkpoint keeps of them. It is pure: what the broker knows is given to it.
//
//	set := split.New()
//	next, err := split.Start(mode, key, broker)
//	err = set.Add(split.Split{Key: key, Next: next, Stop: split.Never})
//	position, use, err := set.Record(key, offset)
//
// The log position of a pipeline is the sum, over all partitions, of the offsets that are
// read next. It grows with every record, it is the same for the same offsets whatever the
// order in which partitions were read, and it can be had of a broker without a pipeline.
package split
