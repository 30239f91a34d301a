// Package keygroup assigns keys to key groups and key groups to subtasks, as
// Flink does (KeyGroupRangeAssignment), so that keyed state can be rescaled: state
// belongs to a key group for ever, and a subtask owns a range of key groups.
//
//	kg := keygroup.Of(keygroup.HashString("C-9"), 128) // 126
//	subtask := keygroup.OperatorIndex(kg, 128, 3)      // 2
//	key := append(keygroup.AppendPrefix(nil, kg), "C-9"...)
//
// Everything here is checked against vectors that Flink gave.
package keygroup
