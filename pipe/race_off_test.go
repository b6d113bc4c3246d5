//go:build !race

package pipe_test

const aMillion = 1_000_000
