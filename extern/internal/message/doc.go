// Package message provides the messages about samples between the engine and its workers:
// the words of PACK and RESULTS.
//
// [ParseResults] checks that all offsets in a message are within it.
// docs/protocol.md states the messages.
package message
