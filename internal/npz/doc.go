// Package npz reads archives of arrays that are in memory, as numpy.savez and
// numpy.savez_compressed write them.
//
// Elements come in the order that samples have: the last axis first, the lowest byte
// first. Checksums are compared. Nothing is evaluated or unpickled.
package npz
