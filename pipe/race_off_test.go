//go:build !race

package pipe_test

const aMillion = 1_000_000

const modelRounds = 30 // of 100 definitions
