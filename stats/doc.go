// Package stats turns the engine's numbers into a report: a sentence that names what
// limits, a table for people, and JSON.
//
//	fmt.Println(stats.Text(stats.Snapshot{Stats: run.Stats()}))
//
//	The consumer waits for data 92 % of the time. The bottleneck is decode_image+…+batch: its 2 workers
//	are busy 98 % of the time.
//	125 batches; 4000 samples in 12.3 s, 324 samples/s. Waits: 345 ms for the first, then 11 s.
//
//	stage                                in   out  lost  ops/s  starved  busy  blocked      p50      p99
//	files                              4012  4012     0    325      0 %  <1 %    >99 %  ~410 ns  ~1.2 µs
//	│ 0.98 of 1 ready; empty for 0 %, full for 98 % of the time
//	read ×6                            4009  4007     0    325      1 %  12 %     86 %  1.23 ms    20 ms
//	│ 11.4 of 12 ready; empty for 1 %, full for 90 % of the time
//	decode_image+random_resized_crop   4000   127     0    324      1 %  98 %     <1 %     5 ms      1 s
//	+random_flip+batch ×2
//	│ 0.04 of 2 ready for the consumer; empty for 96 %, full for <1 % of the time
//
// A stage's times are shares of its workers' lives: starved waits for the stage before,
// blocked for the stage after, gated for a CPU. A percentile with ~ is of some
// operations only, for they are fast.
//
// Text has no colours and no lines of more than 100 characters.
//
// # Concurrency
//
// Functions of values: nothing is shared, nothing is kept.
//
// # Testing
//
// The texts in testdata are compared whole; go test -rewrite writes them again, to be
// read in the diff.
package stats
