// Package rows decides which row of which batch an item is written into, and when a batch
// is sealed.
//
// A [Machine] learns what happens: an item comes, its row is written or lost, the store
// has given a buffer, the epoch ends. It says what to do about it: [Machine.Ready]
// whether to take an item or to reserve a buffer, [Machine.Decide] what to seal, move,
// drop and send on. It is data alone: it waits for nothing, and whoever uses it brings
// the lock.
package rows
