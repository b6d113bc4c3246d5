// Package resume has a run go on at the place of another.
//
// An [Extent] is what a run is: states are checked against it, and become those of the
// engine and back. [Gather] makes one state of those of all
// ranks, whatever the number of ranks that saved them.
package resume
