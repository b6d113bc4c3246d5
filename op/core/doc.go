// Package core is what all operations share when they work on a record: memory, failures,
// random draws.
//
// A [Part] is one or several steps that run as one stage. Run works on a record;
// Foresee says how many bytes it will need, so that they can be reserved before: a
// [MemoryScope] is as many parts as can be foreseen at once. An [Env] is what all parts
// of a loader share.
//
// What is done about failures is put around an operation from the inside out: a time
// limit, then retries ([Env.Guard]), then another sample instead of the one that
// failed ([Env.Replacing]). That other sample follows the path that led to the
// operation by itself ([Env.Follow]).
//
// Parts are shared by all workers of a stage, and hold nothing of a record after Run.
package core
