// Package machine finds out how many cores and how much memory this process may use,
// and works the defaults out from them.
//
// What the machine has is rarely what a process may have: a container limits both
// through control groups, a batch system through the affinity mask. [Here] asks all of
// them and takes the least, with the name of the file that said so, because people who
// wonder about a number want to know where it is from. Neither fails: where nothing can
// be read, the answer is a cautious guess that is named so.
//
// # Concurrency
//
// Values without state.
//
// # Testing
//
// Everything is read through an fs.FS, so tests fabricate machines: control groups of
// both versions, mounted whole or in part, nested, hidden after a namespace,
// malformed. Parsers are fuzzed. One test compares this machine with the scheduler's
// own answer.
package machine
