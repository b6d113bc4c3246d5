// Package resume is the place of a run, so that another run can go on there.
//
// A [State] is small JSON. An [Extent] is what a run is: states are checked against it,
// and become those of the engine and back. [Gather] makes one state of those of all
// ranks, whatever the number of ranks that saved them.
package resume
