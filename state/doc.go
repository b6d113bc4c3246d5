// Package state is the place of a run, as it is saved: small JSON that a program can keep
// beside its model, and that another run goes on from.
//
// A loader gives a [State] and starts at one; package headrace has both.
//
// # Testing
//
// The JSON is pinned here, for users keep it; runs are cut at every batch and go on from
// the state there, in the root.
package state
