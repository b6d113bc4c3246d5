// Package child runs worker processes.
//
// It starts interpreters of Python with the descriptors that a worker needs, reads what
// they write, notices how they end, and ends what they have started. What is said over
// the connections is package extern's.
package child
