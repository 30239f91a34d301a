// Package process builds the freshet binary, writes pipeline documents for it and
// runs it as a real process, to be killed, stopped and measured.
//
//	binary, _ := process.Build(ctx)
//	p := process.Pipeline{Name: "shop", Dir: dir, SourceURL: url, Tables: `public.\.*`}
//	_ = p.Write()
//	run, _ := process.Start(binary, []string{"run", "--until", "caught-up", p.Path()})
//	result := run.Wait()
package process
