// Package checkpoint holds what makes a job's state survive: the interface of a
// checkpoint store and the metadata in it, and the two protocols of barrier-aligned
// snapshots as pure step functions: the Coordinator of a job, and the Aligner of a
// subtask. Nothing in here starts a goroutine, reads a clock or touches a file;
// package stream drives it.
//
//	c := checkpoint.NewCoordinator(checkpoint.CoordinatorConfig{
//		Tasks: 3, Sources: 1, Interval: 10 * time.Second, Timeout: 10 * time.Minute, Next: 1,
//	}, time.Now())
//	for ev := range events {
//		for _, action := range c.Step(time.Now(), ev) {
//			do(action) // trigger the sources, publish, let the operators commit, ...
//		}
//	}
package checkpoint
