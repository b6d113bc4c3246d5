// Package message is what the engine and its workers say of samples: the words of PACK
// and RESULTS.
//
// [ParseResults] checks that what a worker says is within what it has sent.
// docs/protocol.md states the messages.
package message
