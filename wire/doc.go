// Package wire speaks the protocol between a client and the engine.
//
// docs/protocol.md defines every frame; this package is its Go side,
// python/src/headrace/_client/frames.py the other. A [Conn] carries frames and
// descriptors, the types in messages.go are the JSON payloads, [Batch] and [Next] the
// binary ones.
//
// # Concurrency
//
// [Conn.Send] may be called by several goroutines; a frame is never torn.
// [Conn.Receive] belongs to one goroutine, and the payload it returns is valid until
// the next call.
//
// # Testing
//
// Every decoder of bytes from outside is fuzzed, and the golden frames in testdata are
// read by the Python tests too.
package wire
