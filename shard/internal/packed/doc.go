// Package packed unpacks compressed blocks of which the size is known, and takes no more
// memory for one that lies about it than what comes out.
package packed
