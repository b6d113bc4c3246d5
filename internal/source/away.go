package source

// Away are contents that may be in a store, and not on this machine.
type Away interface {
	Contents
	Away() bool
}
