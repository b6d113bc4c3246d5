// Package report is what a loader tells of itself while it runs: the file of the samples
// that it has lost ([DeadLetters]), what its processes use of the machine ([Usage]), and
// why nothing moves ([Stall]).
package report
