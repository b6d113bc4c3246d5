// Package worker has the goroutines of stages: each is a [Worker], with clocks that say
// how it spends its life, and the [Set] of a stage changes how many there are.
//
// A [Run] is what all of them share. The package knows no stages and no queues.
package worker
