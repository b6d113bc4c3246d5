// Package message is what the engine and its workers say of samples: the words of PACK and
// RESULTS, and the check that a worker's RESULTS lie within what it has sent
// ([ParseResults]). docs/protocol.md states both.
package message
