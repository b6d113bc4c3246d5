// Package stats turns the engine's numbers into a report: a sentence that names what limits, a table for people, and JSON.
//
//	fmt.Println(stats.Text(stats.Snapshot{Stats: run.Stats()}))
//
//	The stage decode limits: its 2 workers are busy 97 % of the time.
//	125 batches of 4000 samples in 12.3 s, 325 samples/s; the consumer waited 11.9 s of it.
//
//	stage        in   out  lost  ops/s  starved  busy  blocked      p50      p99
//	files      4012  4012     0    326      0 %   1 %     99 %  ~410 ns  ~1.2 µs
//	│ 13.6 of 14 waiting; empty 0 %, full 94 % of the time
//	read ×6    …
//
// Text has no colours and no lines of more than 100 characters.
//
// # Concurrency
//
// Functions of values: nothing is shared, nothing is kept.
//
// # Testing
//
// The texts in testdata are compared whole; go test -rewrite writes them anew, to be read in the diff.
package stats
