package extern

// knowledge is a caller's view of a function.
type knowledge struct {
	installed
	pace int // largest number of calls in a pack; grows while packs come back quickly, so that slow calls are left to other workers
}

// installed holds the properties that a worker reported for a function it has loaded.
type installed struct {
	random bool  // it wants random numbers
	epochs bool  // it wants to know the epochs of samples
	all    bool  // its calls run concurrently
	err    error // it cannot be loaded
}
