// Package change changes recordings: it adds noise to them, has them heard as in a room,
// and moves their pitch.
//
// Samples are float32 of one channel. Sums are float64 and in one order, and products are
// never fused with them, so results are the same on every machine.
package change
