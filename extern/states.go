package extern

// knowledge is what a lane knows of a function.
type knowledge struct {
	installed
	pace int // calls that a pack may have: grows while packs come back quickly, so that a worker does not take what others could begin
}

// installed is what a worker says of a function that it has loaded.
type installed struct {
	random bool  // it wants random numbers
	epochs bool  // it wants to know the epochs of samples
	all    bool  // its calls run beside each other
	err    error // it cannot be loaded
}
