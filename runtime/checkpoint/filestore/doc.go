// Package filestore keeps checkpoints in a folder of a file system.
//
//	store, err := filestore.New(filestore.Options{Dir: "/var/lib/freshet/shop", Pipeline: "shop", Retained: 3})
//	session, err := store.Acquire(ctx)
//	defer session.Close()
//	latest, corrupt, err := session.Latest(ctx)
//
// The layout is Flink's, with the files that say whose it is:
//
//	LOCK               locked while a process owns the folder
//	OWNER              who owns it: token, process, host
//	LINEAGE            whose it is: pipeline and lineage UUID
//	chk-42/_metadata   a checkpoint
//	shared/            files of keyed state, which several checkpoints may name
//
// A checkpoint exists from the moment in which _metadata gets its name, by one
// rename, after everything that it names was synced. Two things keep a
// second process out. The lock stops one on the same machine, with an error. Where locks
// don't reach (some network file systems, a folder that was moved), the token
// does: taking over writes a new OWNER and then removes what an earlier owner
// had prepared but not yet renamed; the earlier owner looks at OWNER
// after it has prepared and before it renames. So its checkpoint was there
// before the take-over, or never comes.
package filestore
