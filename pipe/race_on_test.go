//go:build race

package pipe_test

// aMillion is less where every item takes ten times as long.
const aMillion = 100_000

const modelRounds = 3
